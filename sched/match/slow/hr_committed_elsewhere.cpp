// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_hr_committed_elsewhere(const MatchContext&, const Candidate& c, const WorkunitFacts& f) {
    if (c.app.hr == HrType::kNone || f.hr_class == 0 || f.hr_class == c.app.host_hr_class) return feasible();
    return refuse(Reason::kHrCommittedElsewhere, c.app.host_hr_class, f.hr_class);
}
}  // namespace
const SlowRow kHrCommittedElsewhereRow{.name = "hr_committed_elsewhere",
                                       .check = check_hr_committed_elsewhere,
                                       .doc = "No other host has meanwhile committed the workunit to its class.",
                                       .commitment = true};
}  // namespace sluice::match
