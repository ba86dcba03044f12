// SPDX-License-Identifier: LGPL-3.0-or-later
// Seed 000: "Let H be the set of hosts which complete at least one job by time T. Send jobs only to hosts in H".
#include "sched/match/planned_batch.h"
#include "sched/match/rows.h"

namespace sluice::match {
namespace {

bool applies_plan_finish(const MatchContext& x) { return batches_are_planned(x.params, x.tables); }

Verdict check_plan_finish(const MatchContext& x, const Candidate& c) {
    const PlannedBatch* plan = plan_for(x, c.job);
    if (plan == nullptr) return feasible();
    const double end = planned_end(x, c, *plan), left = plan->finish - x.now;
    return end <= left ? feasible() : refuse(Reason::kPlanTooLate, end, left);
}

}  // namespace
const FastRow kPlanFinishRow{.name = "plan_finish",
                             .scope = Scope::kVersion,
                             .check = check_plan_finish,
                             .doc = "Jobs of a planned batch go only to hosts that can be done with one by its T.",
                             .applies = applies_plan_finish,
                             .on_resend = true};
}  // namespace sluice::match
