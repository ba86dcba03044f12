// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What becomes of the tags of batches while their results come in. It decides who is admitted to the logical clock,
// with which R, and how measured work changes that. Seed 000: estimates may be wildly wrong, perhaps intentionally.
#include <vector>

#include "sluice/db/share_store.h"

namespace sluice {

/// R is never less or more. An estimate of 0 needs a place in the order, and one of 1e300 must not swamp the clock.
inline constexpr double kLeastSeconds = 1e-3, kMostSeconds = 10 * 365 * 86400.0;
/// A project without credit yet counts as one host of a GFLOPS: settlement puts that right later.
inline constexpr double kLeastProjectFlops = 1e9;

/// R of a batch: project-seconds. Measured work of what has ended, charged before or not, plus the estimates of what
/// has not. The estimates are multiplied by measured/estimated of the successes so far; 1 has the weight of five jobs.
/// Of a batch that is over only what was measured counts.
double run_time(const BatchWork& work, double project_flops);

/// Credit's averages have a half-life of a week: those of a project that began two days ago tell a fifth of its speed.
/// What they are to become. A project that is younger counts as a day old: its first averages stem from few jobs.
double flops_of(const ProjectSpeed& speed, double now);

struct ShareOutcome {
    int admitted = 0, adopted = 0, settled = 0, finished = 0;
    int streams = 0;                ///< whose users were charged, or which began or stopped to wait
    std::vector<Id> without_quota;  ///< batches in progress whose users have none: last in the order
    bool any() const { return admitted + adopted + settled + finished + streams > 0; }
};

/// Admits one batch in progress unless the clock has it; false: its user has no quota.
bool admit(ShareBook& book, const BatchWork& work, double project_flops, double now);
/// Those of `works`, which need not be all there are, that are in progress and not in the clock; counts only what it
/// admitted or adopted.
ShareOutcome admit_all(ShareBook& book, const std::vector<BatchWork>& works, double project_flops, double now);
/// A batch that is over: it is charged for what was measured.
void finish(ShareBook& book, const BatchWork& work, double project_flops);
/// What a pass is about: ShareStore::works(), and the jobs without a batch if they have an owner.
std::vector<BatchWork> all_works(ShareStore& store, const ShareSettings& settings, double now);
/// All that a pass changes: charges streams, admits, adopts what upstream has charged, settles, finishes, and lets
/// users go whose quota is gone. `works` are all_works().
ShareOutcome settle_all(ShareBook& book, const std::vector<BatchWork>& works, double project_flops, double now);

}  // namespace sluice
