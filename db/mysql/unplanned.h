// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Batches that no plan of batch_planner has seen yet, as the feeder looks for them.
#include <span>
#include <vector>

#include "db/store_rules.h"

namespace sluice {

/// Results are looked at first: those of a batch that comes in between are newer.
NewestIds read_newest_ids(Database& db);
UnplannedBatches read_unplanned(Database& db);
/// In progress, with ids above `after`.
std::vector<Id> read_begun_since(Database& db, Id after);
void forget_submissions_of(Database& db, std::span<const Id> decided, double now);

}  // namespace sluice
