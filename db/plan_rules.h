#pragma once
// Which jobs wait for batch_planner's next plan, as every PlanStore finds it, apart from SQL.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "sluice/db/plan_store.h"

namespace sluice {

/// A batch that is being submitted, or was a moment ago.
struct NotedSubmission {
    Id batch = 0;
    double heard_at = 0;  ///< UNIX s
};
inline constexpr double kSubmissionKept = 86400;  ///< s

/// Batches that a plan may not have seen, in the order in which they are to be read: a batch is noted before it has
/// jobs, so none that is being submitted is missing; and what the plan decides meanwhile is in the plan.
struct UnplannedBatches {
    NewestIds newest;
    std::vector<Id> drafts;  ///< up to newest.batch: in state INIT, without jobs
    std::vector<NotedSubmission> submissions;
};

/// PlanStore::plan_for_schedulers(). `begun`: batches in progress that are newer than the plan.
inline BatchPlan awaiting(BatchPlan plan, const UnplannedBatches& unplanned, const std::vector<Id>& begun) {
    // Of a submission that was killed nothing is heard: its jobs wait no longer than a plan is awaited.
    for (const NotedSubmission& s : unplanned.submissions)
        if (std::abs(plan.made_at - s.heard_at) <= kPlanIsAwaited) plan.awaited.push_back(s.batch);
    plan.awaited.insert(plan.awaited.end(), unplanned.drafts.begin(), unplanned.drafts.end());
    plan.awaited.insert(plan.awaited.end(), begun.begin(), begun.end());
    std::sort(plan.awaited.begin(), plan.awaited.end());
    plan.awaited.erase(std::unique(plan.awaited.begin(), plan.awaited.end()), plan.awaited.end());
    plan.newest_batch = unplanned.newest.batch;
    plan.newest_result = unplanned.newest.result;
    return plan;
}

/// PlanStore::forget_submissions().
inline bool is_to_be_forgotten(const NotedSubmission& s, std::span<const Id> decided, double now) {
    return std::ranges::find(decided, s.batch) != decided.end() || std::abs(now - s.heard_at) > kSubmissionKept;
}

}  // namespace sluice
