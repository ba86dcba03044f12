// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What only the feeder has: writable pointers into the content, and its own book-keeping in private memory.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/files.h"
#include "sluice/shmem/feeder_array.h"
#include "src/shmem/block_allocator.h"
#include "src/shmem/job_array_impl.h"

namespace sluice {

struct FeederArray::Own {
    /// What the feeder put into a slot, whatever the slot's words say.
    struct Published {
        std::uint64_t generation = 0;
        shm::BlockRef doc;
        bool offered = false;  ///< published, and not seen EMPTY since
    };

    explicit Own(FileLock l) : lock(std::move(l)) {}

    FileLock lock;
    shm::Header* header = nullptr;
    shm::Slot* slots = nullptr;
    std::uint32_t owners = 0;
    std::uint64_t content_bytes = 0;
    std::vector<char*> chunks;
    shm::BlockAllocator pool;
    std::vector<Published> published;
    shm::BlockRef tables_block;
    std::uint32_t consumed_seen = 0;
    std::string growth_error, access_note;

    bool memory_lacks = false;  ///< growth_error is about that

    bool grow_pool(shm::Segment& content, std::uint64_t at_least);
    /// growth_error as NoSharedMemory, or as ShmemError if more memory would not help.
    [[noreturn]] void throw_growth_error() const;
    /// Puts bytes into the pool, after growing if need be; nullopt: no memory left (see growth_error).
    std::optional<shm::BlockRef> store(shm::Segment& content, std::string_view bytes);
    /// Empties a slot whose state word is none that follows from what was published; true if it was so.
    bool mend(const shm::ClaimTable& table, std::uint32_t index);
};

}  // namespace sluice
