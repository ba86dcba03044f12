#include "daemons/batch_upkeep/upkeep_pass.h"

#include <fmt/core.h>

#include "sluice/base/log.h"

namespace sluice {

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

}  // namespace sluice
