#pragma once
// Which jobs give way though nobody took them: stale ones (--purge_stale), those that keep others out (rotation), the
// surplus of one priority class (--batch_accel). Pure: slots in, slots out.
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "feeder/array_mirror.h"
#include "feeder/picker.h"

namespace sluice {

/// Held for longer than `age` seconds.
std::vector<std::uint32_t> stale_slots(const ArrayMirror& mirror, double now, double age);

/// The longest held of those older than `age` for whose place somebody waits (`is_wanted` by slot), at most a tenth of
/// the array at a time.
std::vector<std::uint32_t> slots_to_rotate(const ArrayMirror& mirror, double now, double age,
                                           const std::function<bool(std::uint32_t)>& is_wanted);

/// Candidates with priority > 0, and others.
struct Waiting {
    std::size_t high = 0, low = 0;
};
/// Of `slots` (all, or those of one app), when none is empty: those of the class that has more than its share, the
/// newest first, as many as the other class lacks and has waiting.
std::vector<std::uint32_t> slots_to_rebalance(const ArrayMirror& mirror, std::span<const std::uint32_t> slots,
                                              double share, const Waiting& waiting);

}  // namespace sluice
