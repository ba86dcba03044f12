// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What both schedulers did, hour by hour, from what the front counted.
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sched/canary/counts.h"

namespace sluice {

struct SideFigures {
    std::int64_t requests = 0, jobs = 0, refused = 0, idle = 0, down = 0, failed = 0;
    std::map<std::string, std::int64_t> reasons{};  ///< of refusals, and of being down
    std::array<std::int64_t, kTimeSteps> times{};
    double most_milliseconds = 0;
    /// Of the times in order, that at `part` of them (0.5: the median), in ms, 3 % off at most; 0: there is none.
    double milliseconds(double part) const;
};
struct HourFigures {
    std::int64_t hour = 0;  ///< hours since 1970
    SideFigures ours, theirs;
};

/// Of the last `hours` before and with `now` (hours since 1970), those in which anybody asked, the oldest first.
std::vector<HourFigures> read_figures(const std::filesystem::path& folder, std::int64_t now, std::int64_t hours);

/// By which name sched_explain knows what a volunteer reads; of a text that it does not know, its beginning with '#'
/// for each number.
std::string reason_of(const std::string& messages);

std::string figures_text(const std::vector<HourFigures>& hours);

}  // namespace sluice
