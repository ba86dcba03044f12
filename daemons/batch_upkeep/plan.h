// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Counts, state and fraction_done of a batch, as upstream's web pages keep them (get_batch_params). Pure.
#include <optional>

#include "sluice/db/batch_store.h"

namespace sluice {

/// The batch as it should stand in the database.
Batch updated_batch(const Batch& batch, const BatchProgress& progress, std::int64_t now);
/// nullopt: the row is right already.
std::optional<BatchChange> plan_upkeep(const Batch& batch, const BatchProgress& progress, std::int64_t now);

}  // namespace sluice
