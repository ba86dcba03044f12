// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/planned_batch.h"
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
double value_of_plan(const MatchContext& x, const Candidate& c) { return plan_for(x, c.job) != nullptr ? 1 : 0; }
bool applies_plan(const MatchContext& x) { return batches_are_planned(x.params, x.tables); }
}  // namespace
const ScoreRow kPlanRow{.name = "plan",
                        .scope = Scope::kJob,
                        .value = value_of_plan,
                        .weight_level0 = 20,
                        .weight_level1 = 9,
                        .doc = "1 for a job of a planned batch that this host can do in time.",
                        .applies = applies_plan};
}  // namespace sluice::match
