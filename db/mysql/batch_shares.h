// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <unordered_map>

#include "sluice/db/database.h"
#include "sluice/model/project_tables.h"

namespace sluice {

struct SharePlace {
    BatchShare share;
    double head = 0;  ///< of a stream: project-seconds of its next job, which `share.end` holds
};

/// By batch: where it stands in the order of its users' shares. Without any batch in the clock there are none, whatever
/// batches there are. A stream (a batch in state 0 that has jobs, or kWithoutBatch) stands at its user's logical start
/// time.
std::unordered_map<Id, SharePlace> read_batch_shares(Database& db);

}  // namespace sluice
