// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_result_still_there(const MatchContext&, const Candidate& c, const WorkunitFacts& f) {
    if (!f.found || f.workunit_id != c.job.workunit_id) return refuse(Reason::kResultGone);
    if (f.server_state == ServerState::kUnsent) return feasible();
    return refuse(Reason::kResultGone, static_cast<double>(f.server_state), static_cast<double>(ServerState::kUnsent));
}
}  // namespace
const SlowRow kResultStillThereRow{.name = "result_still_there",
                                   .check = check_result_still_there,
                                   .doc = "The result was not sent, cancelled or deleted meanwhile.",
                                   .for_no_host = true};
}  // namespace sluice::match
