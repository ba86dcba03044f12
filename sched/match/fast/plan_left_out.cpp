// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/planned_batch.h"
#include "sched/match/rows.h"

namespace sluice::match {
namespace {

bool applies_plan_left_out(const MatchContext& x) { return x.params.plan_batches && !x.tables.plan.left_out.empty(); }

Verdict check_plan_left_out(const MatchContext& x, const Candidate& c) {
    if (plan_for(x, c.job) == nullptr) return feasible();
    const LeftOutHost* host = x.tables.plan.find_left_out(x.host.row.id);
    return host == nullptr ? feasible() : refuse(Reason::kPlanLeftOut, host->errors, host->returned);
}

}  // namespace
const FastRow kPlanLeftOutRow{.name = "plan_left_out",
                              .scope = Scope::kJob,
                              .check = check_plan_left_out,
                              .doc = "Jobs of planned batches don't go to hosts where those keep failing.",
                              .applies = applies_plan_left_out};
}  // namespace sluice::match
