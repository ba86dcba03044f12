// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch_upkeep/plan.h"

namespace sluice {

Batch updated_batch(const Batch& batch, const BatchProgress& p, std::int64_t now) {
    Batch b = batch;
    if (b.state == BatchState::kInit) return b;  // its jobs are still being submitted
    b.njobs = p.njobs;
    if (p.njobs == 0) return b;
    b.nerror_jobs = p.errors;
    b.fraction_done = static_cast<double>(p.done()) / p.njobs;
    b.credit_canonical = p.credit_canonical;
    if (p.done() == p.njobs && b.state == BatchState::kInProgress) {
        b.state = BatchState::kComplete;
        b.completion_time = now;
    }
    return b;
}

std::optional<BatchChange> plan_upkeep(const Batch& batch, const BatchProgress& progress, std::int64_t now) {
    const Batch b = updated_batch(batch, progress, now);
    if (b.njobs == batch.njobs && b.nerror_jobs == batch.nerror_jobs && b.fraction_done == batch.fraction_done &&
        b.credit_canonical == batch.credit_canonical && b.state == batch.state)
        return std::nullopt;
    return BatchChange{b.id,
                       batch.state,
                       b.state,
                       b.njobs,
                       b.nerror_jobs,
                       b.fraction_done,
                       static_cast<double>(b.completion_time),
                       b.credit_canonical};
}

}  // namespace sluice
