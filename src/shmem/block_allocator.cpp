// SPDX-License-Identifier: LGPL-3.0-or-later
#include "src/shmem/block_allocator.h"

namespace sluice::shm {

void BlockAllocator::add_chunk(std::uint32_t chunk, std::uint64_t bytes) {
    insert({chunk, 0}, bytes);
    total_ += bytes;
}

std::optional<BlockRef> BlockAllocator::allocate(std::uint32_t bytes) {
    const std::uint64_t need = footprint(bytes);
    const auto fit = by_size_.lower_bound({need, Place{0, 0}});
    if (fit == by_size_.end()) return std::nullopt;
    const auto [have, place] = *fit;
    erase(by_place_.find(place));
    if (have > need) insert({place.first, place.second + need}, have - need);
    used_ += need;
    return BlockRef{place.first, bytes, place.second};
}

void BlockAllocator::release(const BlockRef& block) {
    if (block.bytes == 0) return;
    Place place{block.chunk, block.offset};
    std::uint64_t bytes = footprint(block.bytes);
    used_ -= bytes;
    auto after = by_place_.lower_bound(place);
    if (after != by_place_.end() && after->first == Place{place.first, place.second + bytes}) {
        bytes += after->second;
        const auto gone = after++;
        erase(gone);
    }
    if (after != by_place_.begin()) {
        const auto before = std::prev(after);
        if (before->first.first == place.first && before->first.second + before->second == place.second) {
            place = before->first;
            bytes += before->second;
            erase(before);
        }
    }
    insert(place, bytes);
}

void BlockAllocator::insert(Place place, std::uint64_t bytes) {
    by_place_.emplace(place, bytes);
    by_size_.emplace(bytes, place);
}

void BlockAllocator::erase(std::map<Place, std::uint64_t>::iterator piece) {
    by_size_.erase({piece->second, piece->first});
    by_place_.erase(piece);
}

}  // namespace sluice::shm
