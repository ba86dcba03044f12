// SPDX-License-Identifier: LGPL-3.0-or-later
// Where users share a project by their batches, a job without one is charged to nobody: a project may refuse such jobs.
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
bool applies_without_batch(const MatchContext& x) { return x.params.refuses_jobs_without_batch(); }
Verdict check_without_batch(const MatchContext& x, const Candidate& c) {
    return c.job.batch == 0 && applies_without_batch(x) ? refuse(Reason::kJobWithoutBatch) : feasible();
}
}  // namespace
const FastRow kWithoutBatchRow{.name = "without_batch",
                               .scope = Scope::kJob,
                               .check = check_without_batch,
                               .doc = "With <jobs_without_batch>refuse</jobs_without_batch>, a job needs a batch.",
                               .applies = applies_without_batch};
}  // namespace sluice::match
