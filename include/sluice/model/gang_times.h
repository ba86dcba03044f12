// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// When hosts come for a member of a gang (docs/gangs.md): agreed on by gang_planner, which plans it, and the scheduler,
// which tells the hosts.
#include <cstdint>

namespace sluice {

inline constexpr double kGangRound = 600;    ///< s from one time at which hosts meet to the next
inline constexpr double kGangEarly = 60;     ///< s before that time a host that comes is there
inline constexpr double kGangLate = 60;      ///< s after it
inline constexpr double kGangFetched = 120;  ///< s after it a host that was given a job and did not fetch it is gone …
inline constexpr double kGangTaken = 180;    ///< … and until then another one that is there may get the job
inline constexpr double kGangPoll = 20;      ///< s after which a host that is there asks again
inline constexpr double kGangStandBy = 120;         ///< s after which a spare of a gang that is at work comes again
inline constexpr std::int64_t kGangDownload = 600;  ///< s that a host has from being sent a member until it must run it

/// Is a host that is to come at `start` (UNIX s; 0: never) to be given its job if there is one?
inline bool gang_is_due(std::int64_t start, double now) {
    return start > 0 && now >= static_cast<double>(start) - kGangEarly &&
           now <= static_cast<double>(start) + kGangTaken;
}
/// s from now until it is to come; 0: whenever it likes.
inline double next_gang_contact(std::int64_t start, double now) {
    if (start <= 0) return 0;
    if (gang_is_due(start, now)) return kGangPoll;
    return now < static_cast<double>(start) ? static_cast<double>(start) - now : 0;
}

}  // namespace sluice
