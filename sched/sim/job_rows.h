// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The rows of batches and jobs, as programs that submit work write them.
#include "db/memory/memory_db.h"
#include "sched/sim/scenario.h"

namespace sluice::sim {

inline constexpr double kBaseFlops = 1e9;  ///< of a core of speed 1

/// With the next id. `jobs` 0: of a stream, whose jobs belong to their user through it.
Batch batch_row(const Scenario& scenario, const WorkSpec& work, const MemoryDb& db, std::int64_t now, int jobs);
/// With the next id; without its name, its files and its class. `size`: which of the sizes.
Workunit job_row(const WorkSpec& work, std::size_t size, const MemoryDb& db, const Batch& batch, std::int64_t now);

}  // namespace sluice::sim
