// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>

#include "sched/match/rows.h"

namespace sluice::match {
namespace {
double value_of_reliable_retry(const MatchContext&, const Candidate& c) {
    return c.job.need_reliable && c.offer->choice.reliable ? 1 : 0;
}
// The first thing that a reliable version needs.
bool applies_reliable_retry(const MatchContext& x) {
    return std::any_of(x.host.versions.begin(), x.host.versions.end(),
                       [](const HostAppVersion& v) { return v.consecutive_valid > 0; });
}
}  // namespace
const ScoreRow kReliableRetryRow{.name = "reliable_retry",
                                 .scope = Scope::kVersion,
                                 .value = value_of_reliable_retry,
                                 .weight_level1 = 3,
                                 .doc = "1 for a retry (need_reliable) on a reliable version of this host.",
                                 .applies = applies_reliable_retry};
}  // namespace sluice::match
