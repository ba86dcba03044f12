// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "sched/match/policies.h"

namespace sluice::match {

/// What the other candidates made of a candidate's score.
struct RelativePoints {
    double of_rank = 0, of_lag = 0;
};

/// Every term of a candidate for the trace.
std::vector<TraceRow::Term> term_values(const MatchContext& context, const ActivePolicies& policies, const Candidate& c,
                                        const RelativePoints& relative);

}  // namespace sluice::match
