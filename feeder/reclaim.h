// SPDX-License-Identifier: LGPL-3.0-or-later
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

/// What rotation goes by.
struct Rotation {
    double now = 0, age = 0;                            ///< nobody gives way who is held for less
    std::function<std::uint32_t(std::uint32_t)> looks;  ///< by slot: ArrayMirror::looks()
    std::function<bool(std::uint32_t)> is_wanted;       ///< by slot: somebody waits for the place
};
/// Hosts that look at a job and can't take it prove nothing: the next one may. A line of jobs is clogged when more than
/// half of it are stuck. A job is stuck if it is older than `age`, and a few hosts have looked at it in vain since one
/// as old was last taken. Then the stuck ones of least value give way, the longest held of them first, until half are
/// left: at most a tenth of the line at a time. Where one of the old ones is taken now and then
/// (ArrayMirror::restart_looks()), or where nobody asks, everybody stays.
std::vector<std::uint32_t> slots_to_rotate(const ArrayMirror& mirror, const Rotation& rotation);

/// Queued jobs with priority > 0, and others.
struct Waiting {
    std::size_t high = 0, low = 0;
};
/// Of `slots` (all, or those of one app), when none is empty: those of the class that has more than its share, the
/// newest first. It gives as many as the other class lacks and has waiting.
std::vector<std::uint32_t> slots_to_rebalance(const ArrayMirror& mirror, std::span<const std::uint32_t> slots,
                                              double share, const Waiting& waiting);

}  // namespace sluice
