// SPDX-License-Identifier: LGPL-3.0-or-later
// Tight jobs run before all others, whatever share a volunteer gave to whom: a host gets one a processor (or GPU), or
// where the plan counts on several those that it can be done with by T, and none that its client would not run first.
#include "sched/match/planned_batch.h"
#include "sched/match/rows.h"

namespace sluice::match {
namespace {

Verdict check_plan_room(const MatchContext& x, const Candidate& c, const Picked& picked) {
    const PlannedBatch* plan = plan_for(x, c.job);
    if (plan == nullptr) return feasible();
    const auto type = static_cast<std::size_t>(c.offer->counted_as);
    const TightQueue queue = tight_queue(x, c, picked);
    const double wait = queue.wait();
    if (wait > 0 && (!hosts_queue(*plan) || planned_end(c, *plan, queue) > plan->finish - x.now))
        return refuse(Reason::kPlanRoom, picked.tight[type], tight_places(x, c));
    // With less than the least buffer it may not be started in time.
    const double least = x.params.plan_deadline_factor * wait + tight_deadline(x, c, 0);
    const double deadline = tight_deadline(x, c, picked);
    return deadline >= least ? feasible() : refuse(Reason::kPlanTooLate, least, deadline);
}

}  // namespace
const SetRow kPlanRoomRow{
    .name = "plan_room",
    .check = check_plan_room,
    .doc =
        "Of planned batches a host has no more jobs than processors or GPUs. Where each host of H must do several, it has no more than it can do by T. Its deadline can be the earliest there."};
}  // namespace sluice::match
