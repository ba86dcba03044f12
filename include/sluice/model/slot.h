// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A slot of the job array as somebody has seen it.
#include <cstdint>

namespace sluice {

/// Which content of a slot is meant: the index, and what was seen with it.
struct SlotRef {
    std::uint32_t index = 0;
    std::uint32_t infeasible_count = 0;  ///< found committed elsewhere so often (seed 003's "previously infeasible")
    std::uint64_t word = 0;              ///< of its state: tells one content from the next
};

/// kClaimed: somebody holds it, or it is being written.
enum class SlotState { kEmpty, kPresent, kClaimed };

}  // namespace sluice
