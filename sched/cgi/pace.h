// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// How slowly a request may come. A volunteer with 5 KB/s reports two megabytes; who sends less than a modem did is cut
// off, and so is everybody in the end.
#include <algorithm>
#include <chrono>
#include <cstddef>

namespace sluice {

struct Pace {
    using Clock = std::chrono::steady_clock;
    std::chrono::duration<double> grace{30};  ///< of a client that sends nothing at all
    double bytes_per_second = 1000;           ///< on average since the beginning, when the grace is over
    std::chrono::duration<double> most{1800};

    /// Until when more must have come, of a request that began at `start` and of which there are `bytes`.
    Clock::time_point until(Clock::time_point start, std::size_t bytes) const {
        const auto earned = grace + std::chrono::duration<double>(static_cast<double>(bytes) / bytes_per_second);
        return start + std::chrono::duration_cast<Clock::duration>(std::min(earned, most));
    }
};

}  // namespace sluice
