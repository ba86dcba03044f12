// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/term_values.h"

#include "sched/match/rank.h"

namespace sluice::match {

std::vector<TraceRow::Term> term_values(const MatchContext& x, const ActivePolicies& policies, const Candidate& c,
                                        const RelativePoints& relative) {
    std::vector<TraceRow::Term> terms;
    for (const ActiveTerm& t : policies.terms()) {
        double value = 0;
        if (!is_ranked(*t.row, x.params.compat_level))
            value = t.row->value(x, c);
        else if (t.row->ranking == Ranking::kLag)
            value = relative.of_lag / t.weight;
        else if ((t.row->ranking == Ranking::kLogicalEndTimes) == is_logical_end_time(c.job.priority))
            value = relative.of_rank / t.weight;
        terms.push_back({t.row->name, t.weight, value});
    }
    return terms;
}

}  // namespace sluice::match
