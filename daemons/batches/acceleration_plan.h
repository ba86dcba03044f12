// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which batches are accelerated, and what that means for each of their jobs (seed 004, batch acceleration: the part of
// batch_accel). Pure. Every decision has a reason with the numbers that it rests on.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sluice/db/batch_store.h"
#include "sluice/model/batch.h"

namespace sluice {

/// Defaults: upstream's (compat_level 0). Upstream's names: BATCH_ACCEL_MIN_FRAC_DONE, BATCH_ACCEL_MAX_NOT_DONE.
struct AccelRules {
    double min_frac_done = 0.85;
    bool at_least = false;        ///< a batch with exactly that part done qualifies
    int max_not_done = 20;        ///< so does one with fewer open jobs than this; 0: never
    double late_after = 0;        ///< late jobs (is_late) count as done: sent so many turnarounds ago; 0: never
    bool only_zero = true;        ///< only jobs of priority 0 are marked; else all up to 0, logical end times too
    bool restore_others = false;  ///< jobs of batches that no longer qualify get their priorities back
    /// Extra instances of a batch's jobs that are not late: at most this part of its jobs (but kFreeExtra); 0: no cap
    double max_extra_frac = 0;
    int max_extra_per_batch = 0;  ///< 0: no cap
    int max_extra_total = 0;      ///< over all batches in progress; 0: no cap
};
inline constexpr int kFreeExtra = 20;  ///< instances that max_extra_frac lets even a small batch have
AccelRules accel_rules(int compat_level);

struct BatchFacts {
    Batch batch;
    BatchProgress progress;
    std::string app_name;
    bool accelerable = false;          ///< the app
    std::optional<double> turnaround;  ///< typical one of the batch, s
    bool touched = false;              ///< some of its jobs are accelerated
    int late = 0;                      ///< open jobs that are late, if late_jobs_matter()
    int extra = 0, extra_total = 0;    ///< instances asked for up to now: of this batch, of all
};

enum class BatchWhy { kNotInProgress, kNoJobs, kNotEnoughDone, kNotAccelerable, kAccelerated };
struct BatchVerdict {
    BatchWhy why = BatchWhy::kNotInProgress;
    double value = 0, required = 0;
    int late = 0;  ///< BatchFacts::late
    bool accelerate = false;
    bool restore = false;  ///< jobs get back what they had before
    bool lower = false;    ///< jobs with priority 1 that others marked, too
};
/// Whether the verdict depends on how many of the batch's jobs are late: at least half are done (what that took is its
/// typical turnaround), but not enough, and the app is accelerable.
bool late_jobs_matter(const BatchFacts& batch, const AccelRules& rules);
/// First sent AccelRules::late_after times the batch's typical turnaround ago, whatever became of that instance.
bool is_late(const OpenJob& job, const BatchFacts& batch, const AccelRules& rules, std::int64_t now);
/// Without BatchFacts::turnaround, which costs a query that only accelerated batches need.
BatchVerdict judge(const BatchFacts& batch, const AccelRules& rules);

enum class MarkWhy { kMarked, kHighAlready, kOwnPriority, kGivenBack, kLowered, kNothingToGiveBack };
enum class InstanceWhy {
    kOneMore,
    kTargeted,
    kUnsentWaits,
    kAtLimit,
    kOnItsWay,
    kAwaitsValidation,
    kNoTypicalTime,
    kRecent,
    kBatchCap,
    kTotalCap,
    kNotAccelerated
};
struct JobDecision {
    Id workunit = 0;
    MarkWhy mark = MarkWhy::kNothingToGiveBack;
    InstanceWhy instance = InstanceWhy::kNotAccelerated;
    double value = 0, required = 0;  ///< of the decision on an instance
    Id about = 0;                    ///< the result that it rests on
    std::vector<Id> mark_results;
    bool give_back_target = false;
};
/// Counts an instance that it decides on in facts.extra and facts.extra_total.
JobDecision decide(const OpenJob& job, const BatchVerdict& verdict, BatchFacts& facts, const AccelRules& rules,
                   std::int64_t now);

/// The writes that decisions on these jobs (same order) amount to.
AccelWrite to_write(const std::vector<OpenJob>& jobs, const std::vector<JobDecision>& decisions,
                    const AccelRules& rules);

/// Sentences for the log and --explain.
std::string text_of(const BatchVerdict& verdict);
std::string text_of(const JobDecision& decision);
const char* name_of(InstanceWhy why);

}  // namespace sluice
