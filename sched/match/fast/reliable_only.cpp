// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_reliable_only(const MatchContext&, const Candidate& c) {
    if (!c.job.need_reliable || c.app.app->beta || c.offer->choice.reliable) return feasible();
    return refuse(Reason::kNeedsReliable, 0, 1);
}
}  // namespace
const FastRow kReliableOnlyRow{.name = "reliable_only",
                               .scope = Scope::kVersion,
                               .check = check_reliable_only,
                               .doc = "Jobs at or above reliable_on_priority go to reliable versions of a host only."};
}  // namespace sluice::match
