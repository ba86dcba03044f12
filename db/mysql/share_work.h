#pragma once
// What batches and streams have used and will use, read from their workunits and results for the ShareStore.
#include <span>

#include "sluice/db/share_store.h"

namespace sluice {

/// Of each of `works` what its workunits and its ended results add up to, and whether jobs of it wait.
void read_work(Database& db, std::span<BatchWork> works);
/// Results of the stream up to and since `work.next_until`.
void read_stream(Database& db, Id batch, StreamWork& work);

}  // namespace sluice
