#include "sched/match/deadline.h"

#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_deadline(const MatchContext& x, const Candidate& c, const Picked& p) {
    return attainable_deadline(x, c, p).verdict;
}
}  // namespace
const SetRow kDeadlineRow{
    .name = "deadline",
    .check = check_deadline,
    .doc = "The job, and every job before it, is done in time (simulated if the client sent its queue)."};
}  // namespace sluice::match
