// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
// result.priority = -LET: the least logical end time has the largest value, ranked like every priority.
double value_of_batch_let(const MatchContext&, const Candidate& c) { return c.job.priority; }
}  // namespace
const ScoreRow kBatchLetRow{.name = "batch_let",
                            .scope = Scope::kJob,
                            .value = value_of_batch_let,
                            .weight_level1 = 3,
                            .ranking = Ranking::kLogicalEndTimes,
                            .doc = "Level 1: rank of the batch's logical end time among the candidates, least first."};
}  // namespace sluice::match
