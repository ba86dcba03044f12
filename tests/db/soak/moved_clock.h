// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A clock that a test moves forward, for many programs at once: the test and moved_clock.so, which is preloaded into
// the programs, share a file of steps. Times of files move, too. Waits keep their real length, except where
// kMovedWaits is set.
#include <atomic>
#include <cstdint>

namespace sluice::test {

inline constexpr char kMovedClockFile[] = "SLUICE_MOVED_CLOCK";  ///< environment: the file of steps
/// Environment: CLOCK_MONOTONIC moves as well. What a daemon sleeps between two turns ends when the clock has passed
/// it.
inline constexpr char kMovedWaits[] = "SLUICE_MOVED_WAITS";

struct ClockSteps {
    static constexpr std::uint64_t kMost = 1 << 18;
    /// From that real time on, ns since 1970, a clock shows that many ns more. Both grow; the first step is 0, 0.
    struct Step {
        std::int64_t real, ahead;
    };
    std::atomic<std::uint64_t> count;
    Step steps[kMost];
};

}  // namespace sluice::test
