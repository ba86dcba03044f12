#pragma once
#include "sched/match/candidate.h"
#include "sched/match/picked.h"

namespace sluice::match {

struct DeadlineAnswer {
    Verdict verdict;
    double delay_bound = 0;  ///< s: the one that can be kept; the report deadline is now + this
};
/// Tries the reduced bound of a retry first, where the project has one, then the job's own.
DeadlineAnswer attainable_deadline(const MatchContext& context, const Candidate& candidate, const Picked& picked);
/// One given bound.
Verdict deadline_verdict(const MatchContext& context, const Candidate& candidate, const Picked& picked, double bound);

}  // namespace sluice::match
