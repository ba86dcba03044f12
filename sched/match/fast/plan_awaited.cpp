// SPDX-License-Identifier: LGPL-3.0-or-later
// Where a batch's jobs go is decided by its plan. What is sent before there is one lies for days behind other work.
#include "sched/match/planned_batch.h"
#include "sched/match/rows.h"

namespace sluice::match {
namespace {

bool applies_plan_awaited(const MatchContext& x) {
    return x.params.plan_batches && x.tables.plan.newest_batch != BatchPlan::kUnknown;
}

Verdict check_plan_awaited(const MatchContext& x, const Candidate& c) {
    if (!x.tables.plan.awaits(c.job.batch, c.job.result_id, x.now)) return feasible();
    return refuse(Reason::kPlanAwaited);
}

}  // namespace
const FastRow kPlanAwaitedRow{.name = "plan_awaited",
                              .scope = Scope::kJob,
                              .check = check_plan_awaited,
                              .doc = "Jobs of a batch that is newer than batch_planner's plan wait for the next one.",
                              .applies = applies_plan_awaited};
}  // namespace sluice::match
