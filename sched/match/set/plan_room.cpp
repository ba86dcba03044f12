// Tight jobs run before all others, whatever share a volunteer gave to whom: a host gets one a processor, and none that
// its client would not run first.
#include "sched/match/planned_batch.h"
#include "sched/match/rows.h"

namespace sluice::match {
namespace {

Verdict check_plan_room(const MatchContext& x, const Candidate& c, const Picked& picked) {
    if (plan_for(x, c.job) == nullptr) return feasible();
    const auto type = static_cast<std::size_t>(c.offer->counted_as);
    const int processors = limit_processors(x.host, c.offer->counted_as);
    if (picked.tight[type] >= processors) return refuse(Reason::kPlanRoom, picked.tight[type], processors);
    // With less than the least buffer it may not be started in time.
    const double least = tight_deadline(x, c, 0), deadline = tight_deadline(x, c, picked);
    return deadline >= least ? feasible() : refuse(Reason::kPlanTooLate, least, deadline);
}

}  // namespace
const SetRow kPlanRoomRow{
    .name = "plan_room",
    .check = check_plan_room,
    .doc =
        "Of planned batches a host has no more jobs than processors, and none whose deadline can't be its earliest."};
}  // namespace sluice::match
