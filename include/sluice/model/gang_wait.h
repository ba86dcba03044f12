// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What a gang waits for, as gang_planner has found it (docs/gangs.md).
#include <algorithm>
#include <string>

#include "sluice/model/codes.h"

namespace sluice {

/// "12.0": the first gang of batch 12.
struct GangId {
    Id batch = 0;
    std::int64_t number = 0;
    friend auto operator<=>(const GangId&, const GangId&) = default;
};

/// A row of `sluice_gang_wait`. Times are UNIX s.
struct GangWait {
    GangId gang;
    int members = 0;               ///< that have no host; 0: none waits
    int hosts = 0;                 ///< that are asked to come for them
    std::int64_t since = 0;        ///< when members began to wait
    std::int64_t short_since = 0;  ///< when there began to be too few hosts; 0: there are enough
    int missing() const { return std::max(0, members - hosts); }
    friend bool operator==(const GangWait&, const GangWait&) = default;
};

/// The row as it is to be, after the one `before`.
inline GangWait with_times(GangWait now, const GangWait& before, std::int64_t time) {
    if (now.members > 0) now.since = before.since > 0 ? before.since : time;
    if (now.missing() > 0) now.short_since = before.short_since > 0 ? before.short_since : time;
    return now;
}

/// "gang 12.0: 4 members wait since TIME; 2 hosts are missing since TIME". `text_of`: a time as people read it.
template <typename TimeText>
std::string gang_wait_text(const GangWait& w, const TimeText& text_of) {
    std::string text = "gang " + std::to_string(w.gang.batch) + "." + std::to_string(w.gang.number) + ": ";
    if (w.members == 0) return text + "no member waits for a host";
    text += std::to_string(w.members) + (w.members == 1 ? " member waits" : " members wait") + " since " +
            text_of(static_cast<double>(w.since)) + "; ";
    if (w.missing() == 0) return text + std::to_string(w.hosts) + " hosts are asked to come at the same time";
    return text + std::to_string(w.missing()) + (w.missing() == 1 ? " host is" : " hosts are") + " missing since " +
           text_of(static_cast<double>(w.short_since));
}

}  // namespace sluice
