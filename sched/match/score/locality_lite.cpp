// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>

#include "sched/match/rows.h"

namespace sluice::match {
namespace {
double value_of_locality_lite(const MatchContext& x, const Candidate& c) {
    if (c.app.app->locality_scheduling != 1 || c.local_files == 0) return 0;
    if (x.params.compat_level <= 0) return 1;
    return c.input_bytes > 0 ? c.local_bytes / c.input_bytes : 1;
}
bool applies_locality_lite(const MatchContext& x) {
    return !x.host.files.empty() && std::any_of(x.tables.apps.begin(), x.tables.apps.end(),
                                                [](const App& a) { return a.locality_scheduling == 1; });
}
}  // namespace
const ScoreRow kLocalityLiteRow{
    .name = "locality_lite",
    .scope = Scope::kJob,
    .value = value_of_locality_lite,
    .weight_level0 = 10,
    .weight_level1 = 10,
    .doc = "1 if any sticky input file is on the host. Level 1: the share of the bytes that is there.",
    .applies = applies_locality_lite};
}  // namespace sluice::match
