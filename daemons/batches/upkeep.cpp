// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/upkeep.h"

#include <fmt/core.h>

#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/daemon/daemon.h"

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

UpkeepOutcome keep_up(BatchUpkeepStore& store, const std::vector<Batch>& batches, std::int64_t now, bool dry_run) {
    UpkeepOutcome outcome;
    std::vector<Id> ids;
    for (const Batch& b : batches) ids.push_back(b.id);
    const auto progress = store.progress(ids);
    std::vector<BatchChange> changes;
    for (std::size_t i = 0; i < batches.size(); ++i) {
        outcome.batches.push_back({updated_batch(batches[i], progress[i], now), progress[i]});
        const auto change = plan_upkeep(batches[i], progress[i], now);
        if (!change) continue;
        changes.push_back(*change);
        const bool completes = change->state != change->was_state;
        outcome.completed += completes ? 1 : 0;
        if (dry_run) {
            fmt::print("batch {}: njobs {} -> {}, nerror_jobs {} -> {}, fraction_done {:.4f} -> {:.4f}{}\n", change->id,
                       batches[i].njobs, change->njobs, batches[i].nerror_jobs, change->nerror_jobs,
                       batches[i].fraction_done, change->fraction_done, completes ? ", COMPLETE" : "");
        } else if (completes) {
            log_normal("[batch#{} {}] complete: {} jobs, {} of them failed", change->id, batches[i].name, change->njobs,
                       change->nerror_jobs);
        }
    }
    outcome.changed = static_cast<int>(changes.size());
    if (!dry_run) store.write(changes);
    return outcome;
}

void upkeep_pass(BatchUpkeepStore& store, const UpkeepOptions& options, const Clock& clock) {
    const double started = clock.now();
    std::vector<Batch> batches;
    if (!options.only) {
        batches = store.in_progress(clock.now_sec());
    } else if (const auto batch = store.batch(*options.only)) {
        batches.push_back(*batch);
    } else {
        throw ConfigError("there is no batch " + std::to_string(*options.only));
    }
    const UpkeepOutcome done = keep_up(store, batches, clock.now_sec(), options.dry_run);
    log_at(done.changed > 0 || options.one_pass ? LogLevel::kNormal : LogLevel::kDebug,
           "{}pass: {} batches, {} changed, {} of them complete now; {:.3f} s", dry_run_words(options.dry_run),
           done.batches.size(), done.changed, done.completed, clock.now() - started);
}

}  // namespace sluice
