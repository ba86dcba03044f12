// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The claims file: state words of the slots, counters, and who owns which claim. Schedulers write it; whatever stands
// in it is believed by nobody further than a wrong state word reaches: a job that is offered twice or not at all.
#include <cstdint>
#include <functional>
#include <optional>

#include "sluice/base/process.h"
#include "src/shmem/layout.h"
#include "src/shmem/words.h"

namespace sluice::shm {

class ClaimTable {
  public:
    ClaimTable() = default;
    /// `base`: claims_bytes(slots, owners) bytes, mapped for writing or for reading only.
    ClaimTable(void* base, std::uint32_t slots, std::uint32_t owners);

    SlotClaim& slot(std::uint32_t index) const { return slots_[index]; }
    ClaimCounters& counters() const { return *counters_; }
    /// 0: free; else pack_owner() or kBeingFreed.
    std::uint64_t owner(std::uint32_t entry) const;

    /// An entry of the owner table, before the first claim; nullopt: all are taken.
    std::optional<std::uint32_t> enter(const ProcessId& process);
    /// Frees the entry if it is still that process's. The process must hold no claim.
    void leave(std::uint32_t entry, const ProcessId& process);
    /// Makes PRESENT again what is claimed by entries whose owner `is_dead` (proof, not doubt) or that have none; the
    /// number of slots. One caller at a time: the feeder.
    int give_back(const std::function<bool(const ProcessId&)>& is_dead);
    /// Slots that are claimed.
    std::uint32_t claimed() const;

  private:
    int give_back_claims_of(std::uint32_t entry);

    ClaimCounters* counters_ = nullptr;
    Word* owners_ = nullptr;
    SlotClaim* slots_ = nullptr;
    std::uint32_t n_slots_ = 0, n_owners_ = 0;
};

}  // namespace sluice::shm
