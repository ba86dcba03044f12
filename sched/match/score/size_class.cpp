// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
bool applies_size_class(const MatchContext& x) { return x.params.size_classes && !x.tables.size_quantiles.empty(); }
double value_of_size_class(const MatchContext& x, const Candidate& c) {
    const int host = c.offer->host_size_class;
    // Classes say which jobs of an app a host gets, not which app's. What has none suits every host: an app without
    // size classes would otherwise get nothing as long as a job of the host's class waits.
    if ((host < 0 || c.job.size_class < 0) && x.params.compat_level > 0) return applies_size_class(x) ? 1 : 0;
    if (host < 0) return 0;
    // A job without a class: upstream takes it for smaller than any.
    if (c.job.size_class == host) return 1;
    return c.job.size_class < host ? -0.2 : -0.4;
}
}  // namespace
const ScoreRow kSizeClassRow{
    .name = "size_class",
    .scope = Scope::kVersion,
    .value = value_of_size_class,
    .weight_level0 = 5,
    .weight_level1 = 5,
    .doc =
        "1 if the job's size class is the host's, -0.2 if smaller, -0.4 if larger. Level 1: 1 where job or host has none.",
    .applies = applies_size_class};
}  // namespace sluice::match
