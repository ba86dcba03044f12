// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// How the two files of the segment are laid out. Everything in them is trivially placed: atomics and plain numbers,
// offsets instead of pointers, no std::string. Change anything here and kLayoutVersion goes up: attach() then refuses
// the other side.
//
//   NAME         header | slots' content | chunk 0 of the pool | chunk 1 | …    written by the feeder only; it grows
//   NAME.claims  counters | owner table | slots' state                         written by schedulers too
//
// The pool holds the cold data of slots and the project's tables. Who may use which byte of it is book-kept in the
// feeder's private memory only (BlockAllocator): a feeder that dies leaves a segment that its successor replaces.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sluice/base/process.h"
#include "sluice/model/job_summary.h"

namespace sluice::shm {

inline constexpr std::uint64_t kMagic = 0x4a6f624172726179;  // "JobArray"; the last word that create() writes
inline constexpr std::uint32_t kLayoutVersion = 6;

template <typename T>
using Atomic = std::atomic<T>;
static_assert(Atomic<std::uint64_t>::is_always_lock_free && Atomic<std::uint32_t>::is_always_lock_free);

/// A place in the pool.
struct BlockRef {
    std::uint32_t chunk = 0;
    std::uint32_t bytes = 0;   ///< of content; 0 = none
    std::uint64_t offset = 0;  ///< within the chunk, multiple of kBlockUnit
    friend bool operator==(const BlockRef&, const BlockRef&) = default;
};
inline constexpr std::uint64_t kBlockUnit = 32;
inline constexpr std::uint32_t kMaxChunks = 256;

/// What is copied out of a slot, as words.
struct Payload {
    JobSummary job;
    BlockRef doc;
};
static_assert(sizeof(Payload) % sizeof(std::uint64_t) == 0);
inline constexpr std::size_t kPayloadWords = sizeof(Payload) / sizeof(std::uint64_t);

// The state word: generation (40 bits) | owner index (16) | state (8). The generation changes with the content, and
// with nothing else: a slot that was claimed and given back is the same PRESENT word again, and rightly so.
enum class WordState : std::uint8_t { kEmpty = 0, kPresent = 1, kClaimed = 2 };

constexpr std::uint64_t make_word(std::uint64_t generation, std::uint32_t owner, WordState state) {
    return generation << 24 | std::uint64_t{owner & 0xffff} << 8 | static_cast<std::uint64_t>(state);
}
constexpr WordState state_of(std::uint64_t word) { return static_cast<WordState>(word & 0xff); }
constexpr std::uint32_t owner_of(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 8 & 0xffff); }
constexpr std::uint64_t generation_of(std::uint64_t word) { return word >> 24; }
constexpr std::uint64_t with_state(std::uint64_t word, std::uint32_t owner, WordState state) {
    return make_word(generation_of(word), owner, state);
}

/// Content of a slot. The feeder sets the generation to 0, writes the payload, and sets the new generation: a copy
/// between two looks at one and the same generation is whole, whatever stands in the state word.
struct Slot {
    Atomic<std::uint64_t> generation;
    std::array<Atomic<std::uint64_t>, kPayloadWords> payload;
};

/// What schedulers write of a slot.
struct alignas(32) SlotClaim {
    Atomic<std::uint64_t> word;
    Atomic<std::uint64_t> infeasible;         ///< low 32 bits of the generation | count of note_infeasible()
    Atomic<std::uint64_t> passed_over;        ///< likewise, of note_passed_over()
    Atomic<std::uint64_t> first_passed_over;  ///< heartbeat time; 0 = never
};
static_assert(sizeof(SlotClaim) == 32);

/// pid and start time in one word, so that registering is one compare-and-swap and can't be left half done.
/// 22 bits hold every pid that Linux has, 42 bits of ticks hold a thousand years. 0 = free.
constexpr std::uint64_t pack_owner(const ProcessId& p) {
    return static_cast<std::uint64_t>(p.pid) << 42 | (p.start_ticks & ((std::uint64_t{1} << 42) - 1));
}
constexpr ProcessId unpack_owner(std::uint64_t word) {
    return {static_cast<std::int32_t>(word >> 42), word & ((std::uint64_t{1} << 42) - 1)};
}
/// An owner entry that nobody may take: the feeder is giving back what its last owner held.
inline constexpr std::uint64_t kBeingFreed = ~std::uint64_t{0};

struct ChunkEntry {
    Atomic<std::uint64_t> file_offset, bytes;
};

/// Where the tables of one generation are. Two of them alternate: generation g uses [g & 1].
struct TablesEntry {
    Atomic<std::uint64_t> chunk, offset, bytes;
};

/// Written by the feeder only.
struct Header {
    // The first five words keep their place in every layout, so that any two versions can describe each other.
    Atomic<std::uint64_t> magic;
    std::uint32_t layout_version, header_bytes, slot_bytes, job_bytes;
    std::uint32_t slots, owners;
    std::uint64_t first_bytes;  ///< of header and slots

    std::uint64_t claims_inode;  ///< of the claims file that belongs to this one
    std::uint64_t feeder;        ///< pack_owner()
    Atomic<std::uint32_t> ready, closed;
    Atomic<std::int64_t> heartbeat;
    Atomic<std::uint64_t> table_generation;
    std::array<TablesEntry, 2> tables;
    Atomic<std::uint32_t> chunk_count;
    Atomic<std::uint32_t> pad;
    std::array<ChunkEntry, kMaxChunks> chunks;
    Atomic<std::uint64_t> doc_bytes_used, reclaimed, mended;
};
static_assert(offsetof(Header, layout_version) == 8 && offsetof(Header, slots) == 24 &&
              offsetof(Header, first_bytes) == 32);

/// Counters of all schedulers, first in the claims file.
struct alignas(64) ClaimCounters {
    Atomic<std::uint32_t> consumed;  ///< futex word
    Atomic<std::uint32_t> waiters;
    Atomic<std::uint64_t> claims_lost;
};

inline constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }
/// Pages of their own: the header outlives the rest when a closed segment's memory is given back.
constexpr std::uint64_t slots_offset() { return round_up(sizeof(Header), kPage); }
constexpr std::uint64_t first_part_bytes(std::uint32_t slots) {
    return round_up(slots_offset() + std::uint64_t{slots} * sizeof(Slot), kPage);
}
constexpr std::uint64_t owners_offset() { return sizeof(ClaimCounters); }
constexpr std::uint64_t claims_offset(std::uint32_t owners) {
    return round_up(owners_offset() + std::uint64_t{owners} * sizeof(Atomic<std::uint64_t>), 64);
}
constexpr std::uint64_t claims_bytes(std::uint32_t slots, std::uint32_t owners) {
    return round_up(claims_offset(owners) + std::uint64_t{slots} * sizeof(SlotClaim), kPage);
}

}  // namespace sluice::shm
