// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
double value_of_result_priority(const MatchContext&, const Candidate& c) { return c.job.priority; }
}  // namespace
const ScoreRow kResultPriorityRow{
    .name = "result_priority",
    .scope = Scope::kJob,
    .value = value_of_result_priority,
    .weight_level0 = 1,
    .weight_level1 = 4,
    .ranking = Ranking::kPriorities,
    .doc = "result.priority as points. Level 1: its rank among the candidates, in [-1,1]."};
}  // namespace sluice::match
