// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What batches and streams have used and will use, read from their workunits and results for the ShareStore.
#include <span>
#include <unordered_map>

#include "sluice/db/database.h"
#include "sluice/db/share_store.h"
#include "sluice/model/project_tables.h"

namespace sluice {

/// Of each of `works` what its workunits and its ended results add up to, and whether jobs of it wait.
void read_work(Database& db, std::span<BatchWork> works);
/// The same of streams, with their results up to and since `next_until`. Results that are over for good are read once,
/// however long a stream lives: a pass that `writes` notes from which result on the next one has to read.
void read_streams(Database& db, std::span<BatchWork> streams, bool writes);

struct SharePlace {
    BatchShare share;
    double head = 0;  ///< of a stream: project-seconds of its next job, which `share.end` holds
};

/// By batch: where it stands in the order of its users' shares. Without any batch in the clock there are none, whatever
/// batches there are. A stream (a batch in state 0 that has jobs, or kWithoutBatch) stands at its user's logical start
/// time.
std::unordered_map<Id, SharePlace> read_batch_shares(Database& db);

}  // namespace sluice
