// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What is behind a JobArray, on all sides.
#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/shmem/job_array.h"
#include "sluice/shmem/scheduler_array.h"
#include "src/shmem/claim_table.h"
#include "src/shmem/layout.h"
#include "src/shmem/segment.h"
#include "src/shmem/words.h"

namespace sluice {

/// Tells a publication from the one that took its place.
struct PublicationIdentity {
    shm::SegmentIdentity file;
    std::int64_t written_ns = 0;
    friend bool operator==(const PublicationIdentity&, const PublicationIdentity&) = default;
};
/// nullopt: there is none.
std::optional<PublicationIdentity> identity_of(const std::filesystem::path& publication);

/// Name of the claims file that belongs to a segment.
std::string claims_name(const std::string& segment);

struct JobArray::Impl {
    Impl(JobArrayName n, shm::Segment content_file, shm::Segment claims_file)
        : name(std::move(n)), content(std::move(content_file)), claims(std::move(claims_file)) {}

    JobArrayName name;
    shm::Segment content, claims;
    shm::SegmentIdentity identity, claims_identity;  ///< of the two files, when they were opened
    PublicationIdentity publication;

    // Copies of what the header says, taken once and checked: what is mapped follows from them.
    std::uint32_t slots = 0, owners = 0;
    struct Chunk {
        const char* at = nullptr;  ///< mapped when first needed
        std::uint64_t bytes = 0;
    };
    std::vector<Chunk> chunks;

    const shm::Header* header = nullptr;
    const shm::Slot* content_of = nullptr;
    shm::ClaimTable table;
    std::function<void(const char*)> hook;

    std::shared_ptr<const ProjectTables> tables;
    std::uint64_t tables_generation = 0;

    // Scheduler's side.
    std::uint32_t owner_entry = 0;
    ProcessId owner;  ///< pid 0: not registered
    std::uint32_t claims_held = 0;

    void at(const char* point) const {
        if (hook) hook(point);
    }
    /// Maps header, slots and claims, whose numbers are known; where the header is.
    void* map(std::uint32_t slot_count, std::uint32_t owner_count);
    /// Checks everything that a segment says of itself before anything is believed. Throws ShmemError.
    void* check_and_map();
    bool names_lead_here() const;
    bool intact() const;

    /// Start of `block` if it lies within the pool, else null (a torn reference). Throws ShmemError if the segment
    /// itself is damaged.
    const shm::Word* block(const shm::BlockRef& block);
    /// What of the content of generation `generation` comes first, as much as T is large; false if it is not there, or
    /// not any more: `to` is then nothing.
    template <typename T>
    bool copy_payload(std::uint32_t index, std::uint64_t generation, T& to) const;
    /// Cold data of a slot while it has that generation; nullopt: not any more. Throws ShmemError if they are damaged.
    std::optional<SlotDoc> doc(std::uint32_t index, std::uint64_t generation);
};

namespace shm {
std::string encode_doc(const SlotDoc& doc);
/// Empty fields if the bytes are not whole.
SlotDoc decode_doc(std::string_view bytes);
}  // namespace shm

}  // namespace sluice
