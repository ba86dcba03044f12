#pragma once
// What is behind a JobArray, on both sides.
#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/base/files.h"
#include "sluice/shmem/job_array.h"
#include "src/shmem/block_allocator.h"
#include "src/shmem/layout.h"
#include "src/shmem/segment.h"
#include "src/shmem/words.h"

namespace sluice {

struct JobArray::Impl {
    Impl(JobArrayName n, shm::Segment s, bool can_write)
        : name(std::move(n)), segment(std::move(s)), writable(can_write) {}

    JobArrayName name;
    shm::Segment segment;
    bool writable;
    shm::SegmentIdentity identity;
    shm::Header* header = nullptr;
    shm::Word* owners = nullptr;
    shm::Slot* slots = nullptr;
    std::vector<char*> chunks;  ///< mapped when first needed
    std::function<void(const char*)> hook;

    // Scheduler's side.
    std::uint32_t owner_index = 0;
    pid_t owner_pid = 0;  ///< 0: not registered
    std::uint32_t claims_held = 0;
    std::shared_ptr<const ProjectTables> tables;
    std::uint64_t tables_generation = 0;

    // Feeder's side.
    std::optional<FileLock> feeder_lock;
    shm::BlockAllocator pool;
    std::vector<shm::BlockRef> doc_of_slot;
    shm::BlockRef tables_block;
    std::uint32_t consumed_seen = 0;
    std::string growth_error;
    std::string access_note;

    void at(const char* point) const {
        if (hook) hook(point);
    }
    /// Maps header, owner table and slots, whose sizes are known.
    void map_first_part(std::uint32_t slot_count, std::uint32_t owner_count);
    /// Checks everything a segment says of itself before anything is believed. Throws ShmemError.
    void check_and_map();
    bool name_leads_here() const;

    /// Start of `block` if it lies within the pool, else null (a torn reference). Throws ShmemError if the segment
    /// itself is damaged.
    shm::Word* block(const shm::BlockRef& block);
    /// A block of the pool, after growing if need be; nullopt: no memory left (see growth_error).
    std::optional<shm::BlockRef> allocate(std::uint32_t bytes);
    bool grow_pool(std::uint64_t at_least);

    /// Payload of a slot while its word is `word`; false if it changed meanwhile.
    bool copy_payload(const shm::Slot& slot, std::uint64_t word, shm::Payload& to) const;
    void register_owner();
    void unregister_owner();
};

namespace shm {
std::string encode_doc(const SlotDoc& doc);
/// Empty fields if the bytes are not whole.
SlotDoc decode_doc(std::string_view bytes);
}  // namespace shm

}  // namespace sluice
