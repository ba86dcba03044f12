// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Brings the rows of batches up to date, for batch_upkeep and for batch_accel: counts, state and fraction_done, as
// upstream's web pages keep them (get_batch_params).
#include <optional>
#include <vector>

#include "sluice/base/clock.h"
#include "sluice/daemon/service.h"
#include "sluice/db/batch_store.h"
#include "sluice/model/batch.h"

namespace sluice {

/// The batch as it should stand in the database.
Batch updated_batch(const Batch& batch, const BatchProgress& progress, std::int64_t now);
/// nullopt: the row is right already.
std::optional<BatchChange> plan_upkeep(const Batch& batch, const BatchProgress& progress, std::int64_t now);

struct KeptBatch {
    Batch batch;  ///< as it stands in the database afterwards
    BatchProgress progress;
};
struct UpkeepOutcome {
    std::vector<KeptBatch> batches;
    int changed = 0, completed = 0;
};
/// `dry_run`: computes, prints the changes, writes nothing.
UpkeepOutcome keep_up(BatchUpkeepStore& store, const std::vector<Batch>& batches, std::int64_t now, bool dry_run);

struct UpkeepOptions {
    std::optional<Id> only;  ///< this batch, whatever its state; else those in progress
    bool dry_run = false;
    bool one_pass = false;  ///< a pass that changes nothing says so, too
    double every = 60;      ///< s between two passes
};
/// One pass of batch_upkeep, with its summary line. Throws ConfigError if there is no batch `only`.
void upkeep_pass(BatchUpkeepStore& store, const UpkeepOptions& options, const Clock& clock);

/// batch_upkeep.
class UpkeepService final : public Service {
  public:
    /// Both outlive it.
    UpkeepService(BatchUpkeepStore& store, const UpkeepOptions& options, const Clock& clock)
        : Service(options.every), store_(store), options_(options), clock_(clock) {}
    Turn turn() override { return upkeep_pass(store_, options_, clock_), idle(); }

  private:
    BatchUpkeepStore& store_;
    UpkeepOptions options_;
    const Clock& clock_;
};

}  // namespace sluice
