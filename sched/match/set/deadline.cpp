// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/deadline.h"

#include "sched/match/planned_batch.h"
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_deadline(const MatchContext& x, const Candidate& c, const Picked& p) {
    // That a planned job is done by T has been checked; what others lose is seen where the client told its queue.
    if (plan_for(x, c.job) != nullptr && !p.simulation.active()) return feasible();
    return deadline_verdict(x, c, p, attainable_deadline(x, c, p));
}
}  // namespace
const SetRow kDeadlineRow{
    .name = "deadline",
    .check = check_deadline,
    .doc =
        "The job, and every job before it, is done in time. The check simulates the host's queue if the client sent it."};
}  // namespace sluice::match
