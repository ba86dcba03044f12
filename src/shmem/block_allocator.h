// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which bytes of the pool are free: best fit, neighbours joined, in the feeder's private memory (only the feeder
// allocates). Chunks may be added at any time and are never given back.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "src/shmem/layout.h"

namespace sluice::shm {

class BlockAllocator {
  public:
    void add_chunk(std::uint32_t chunk, std::uint64_t bytes);
    /// nullopt: no free piece is large enough; add a chunk.
    std::optional<BlockRef> allocate(std::uint32_t bytes);
    /// `block` as allocate() returned it. A block of 0 bytes is ignored.
    void release(const BlockRef& block);
    std::uint64_t used() const { return used_; }
    std::uint64_t total() const { return total_; }
    /// What a block of `bytes` takes.
    static std::uint64_t footprint(std::uint64_t bytes) { return round_up(bytes == 0 ? 1 : bytes, kBlockUnit); }

  private:
    using Place = std::pair<std::uint32_t, std::uint64_t>;  // chunk, offset
    void insert(Place place, std::uint64_t bytes);
    void erase(std::map<Place, std::uint64_t>::iterator piece);

    std::map<Place, std::uint64_t> by_place_;
    std::set<std::pair<std::uint64_t, Place>> by_size_;
    std::uint64_t used_ = 0, total_ = 0;
};

}  // namespace sluice::shm
