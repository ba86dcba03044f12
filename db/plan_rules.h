// SPDX-License-Identifier: LGPL-3.0-or-later
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
/// BOINC's pages make a batch, call create_work for its jobs, and set it in progress: so long they may take.
inline constexpr double kFilledWithin = 60;  ///< s

/// A batch in state INIT.
struct NewBatch {
    Id batch = 0;
    std::int64_t first_job = 0;  ///< workunit.create_time; 0: it has no job
};

/// Batches that a plan may not have seen, in the order in which they are to be read: a batch is noted before it has
/// jobs, so none that is being submitted is missing; and what the plan decides meanwhile is in the plan.
struct UnplannedBatches {
    NewestIds newest;
    std::vector<NewBatch> drafts;  ///< up to newest.batch
    std::vector<NotedSubmission> submissions;
};

/// May be in progress any moment; any other is a stream.
inline bool may_be_submitted(const NewBatch& b, const BatchPlan& plan) {
    const double age = plan.made_at - static_cast<double>(b.first_job);
    return b.first_job == 0 || (age < kFilledWithin && age > -kPlanIsAwaited);
}

/// Every planner looks as far back, in ids.
inline constexpr Id kSeenByPlanners = 5000;

/// Of which batches in progress awaiting() asks: those with ids above this.
inline Id begun_after(const BatchPlan& plan) {
    const bool tells = std::ranges::binary_search(plan.awaited, seen_and_free(0));
    return tells ? plan.newest_batch - kSeenByPlanners : plan.newest_batch;
}

/// PlanStore::plan_for_schedulers(). `begun`: batches in progress, of begun_after().
inline BatchPlan awaiting(BatchPlan plan, const UnplannedBatches& unplanned, const std::vector<Id>& begun) {
    std::vector<Id> unknown;
    for (const Id id : begun)
        if (plan.find_batch(id) == nullptr && !std::ranges::binary_search(plan.awaited, seen_and_free(id)))
            unknown.push_back(id);
    std::erase_if(plan.awaited, [](Id id) { return id < 0; });
    // Of a submission that was killed nothing is heard: its jobs wait no longer than a plan is awaited.
    for (const NotedSubmission& s : unplanned.submissions)
        if (std::abs(plan.made_at - s.heard_at) <= kPlanIsAwaited) plan.awaited.push_back(s.batch);
    for (const NewBatch& b : unplanned.drafts)
        if (may_be_submitted(b, plan)) plan.awaited.push_back(b.batch);
    plan.awaited.insert(plan.awaited.end(), unknown.begin(), unknown.end());
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
