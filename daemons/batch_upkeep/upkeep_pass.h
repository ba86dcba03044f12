#pragma once
// Brings the rows of batches up to date, for batch_upkeep and for batch_accel.
#include <vector>

#include "daemons/batch_upkeep/plan.h"

namespace sluice {

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

}  // namespace sluice
