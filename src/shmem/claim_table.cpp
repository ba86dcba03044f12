// SPDX-License-Identifier: LGPL-3.0-or-later
#include "src/shmem/claim_table.h"

#include <vector>

namespace sluice::shm {

ClaimTable::ClaimTable(void* base, std::uint32_t slots, std::uint32_t owners) : n_slots_(slots), n_owners_(owners) {
    char* at = static_cast<char*>(base);
    counters_ = reinterpret_cast<ClaimCounters*>(at);
    owners_ = reinterpret_cast<Word*>(at + owners_offset());
    slots_ = reinterpret_cast<SlotClaim*>(at + claims_offset(owners));
}

std::uint64_t ClaimTable::owner(std::uint32_t entry) const {
    return entry < n_owners_ ? owners_[entry].load(std::memory_order_acquire) : 0;
}

std::optional<std::uint32_t> ClaimTable::enter(const ProcessId& process) {
    const std::uint64_t packed = pack_owner(process);
    for (std::uint32_t i = 0; i < n_owners_; ++i) {
        // Neighbouring pids start at different places, so that they seldom meet.
        const std::uint32_t entry = (static_cast<std::uint32_t>(process.pid) * 31u + i) % n_owners_;
        std::uint64_t free_entry = 0;
        if (owners_[entry].load(std::memory_order_relaxed) != 0) continue;
        if (owners_[entry].compare_exchange_strong(free_entry, packed, std::memory_order_acq_rel)) return entry;
    }
    return std::nullopt;
}

void ClaimTable::leave(std::uint32_t entry, const ProcessId& process) {
    std::uint64_t mine = pack_owner(process);
    owners_[entry].compare_exchange_strong(mine, 0, std::memory_order_acq_rel);
}

int ClaimTable::give_back(const std::function<bool(const ProcessId&)>& is_dead) {
    std::vector<bool> holds(n_owners_, false);
    for (std::uint32_t i = 0; i < n_slots_; ++i) {
        const std::uint64_t word = slots_[i].word.load(std::memory_order_acquire);
        if (state_of(word) == WordState::kClaimed && owner_of(word) < n_owners_) holds[owner_of(word)] = true;
    }
    int given_back = 0;
    for (std::uint32_t entry = 0; entry < n_owners_; ++entry) {
        std::uint64_t packed = owners_[entry].load(std::memory_order_acquire);
        if (packed == 0 && !holds[entry]) continue;
        if (packed != 0 && packed != kBeingFreed && !is_dead(unpack_owner(packed))) continue;
        // First the entry, which nobody can take from here on: who is proved dead may have left it meanwhile, and a
        // living process may have it now and claim. Then all that is claimed by this entry is nobody's.
        if (!owners_[entry].compare_exchange_strong(packed, kBeingFreed, std::memory_order_acq_rel)) continue;
        given_back += give_back_claims_of(entry);
        std::uint64_t locked = kBeingFreed;
        owners_[entry].compare_exchange_strong(locked, 0, std::memory_order_acq_rel);
    }
    return given_back;
}

int ClaimTable::give_back_claims_of(std::uint32_t entry) {
    int given_back = 0;
    for (std::uint32_t i = 0; i < n_slots_; ++i) {
        std::uint64_t word = slots_[i].word.load(std::memory_order_acquire);
        if (state_of(word) != WordState::kClaimed || owner_of(word) != entry) continue;
        const std::uint64_t present = with_state(word, 0, WordState::kPresent);
        if (slots_[i].word.compare_exchange_strong(word, present, std::memory_order_acq_rel)) ++given_back;
    }
    return given_back;
}

std::uint32_t ClaimTable::claimed() const {
    std::uint32_t n = 0;
    for (std::uint32_t i = 0; i < n_slots_; ++i)
        if (state_of(slots_[i].word.load(std::memory_order_acquire)) == WordState::kClaimed) ++n;
    return n;
}

}  // namespace sluice::shm
