#pragma once
// Which jobs give way though nobody took them: stale ones (--purge_stale), those that keep others out (rotation), the
// surplus of one priority class (--batch_accel). Pure: slots in, slots out.
#include <cstdint>
#include <functional>
#include <vector>

#include "feeder/array_mirror.h"
#include "feeder/picker.h"

namespace sluice {

/// Held for longer than `age` seconds.
std::vector<std::uint32_t> stale_slots(const ArrayMirror& mirror, double now, double age);

/// When no slot is empty: the longest held of those older than `age` for whose place somebody waits (`is_wanted` by
/// slot), at most a tenth of the array at a time.
std::vector<std::uint32_t> slots_to_rotate(const ArrayMirror& mirror, double now, double age,
                                           const std::function<bool(std::uint32_t)>& is_wanted);

/// When no slot is empty: slots of the class that has more than its share, the newest first, as many as the other class
/// lacks and has waiting.
std::vector<std::uint32_t> slots_to_rebalance(const ArrayMirror& mirror, double share, std::size_t high_waiting, std::size_t low_waiting);

}  // namespace sluice
