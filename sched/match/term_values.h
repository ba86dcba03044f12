#pragma once
#include "sched/match/policies.h"

namespace sluice::match {

/// Every term of a candidate for the trace; `ranked_points` is what the ranking added.
std::vector<TraceRow::Term> term_values(const MatchContext& context, const ActivePolicies& policies, const Candidate& c,
                                        double ranked_points);

}  // namespace sluice::match
