// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>
#include <charconv>
#include <limits>

#include "sluice/db/transition_store.h"
#include "sluice/model/average.h"

namespace sluice {

std::int64_t result_name_suffix(std::string_view name) {
    const auto underscore = name.rfind('_');
    if (underscore == name.npos) return -1;
    const char* const begin = name.data() + underscore + 1;
    const char* const end = name.data() + name.size();
    std::int64_t suffix = -1;
    const auto [stop, error] = std::from_chars(begin, end, suffix);
    // Beyond 31 bits it is no counter of ours, and counting on from it would overflow.
    const bool sensible =
        error == std::errc{} && stop == end && suffix >= 0 && suffix < std::numeric_limits<std::int32_t>::max();
    return sensible ? suffix : -1;
}

void penalize(HostAppVersion& version, const TimedOut& timed_out) {
    add_sample(version.turnaround, timed_out.turnaround, kHostVersionRule);
    const int quota = timed_out.daily_quota;
    const int now = version.max_jobs_per_day == 0 ? quota : std::min(version.max_jobs_per_day, quota);
    version.max_jobs_per_day = std::max(1, now - 1);
    version.consecutive_valid = 0;
}

}  // namespace sluice
