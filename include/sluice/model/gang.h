// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What is special of a workunit that is a member of a gang (docs/gangs.md).
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/model/codes.h"

namespace sluice {

struct Workunit;

/// No program makes an instance but the scheduler, for the host that gang_planner has chosen; and a host that is lost
/// is not the end of the gang.
void send_by_gang_planner_only(Workunit& w);

// When hosts come for a member of a gang (docs/gangs.md): agreed on by gang_planner, which plans it, and the scheduler,
// which tells the hosts.

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

// By what a process proves to gang_hub which instance of a gang's member it is (docs/gangs.md). A workunit's document
// has the token of its place, which no client sees: the scheduler puts that of the instance in its stead.

inline constexpr std::size_t kGangPlaceToken = 64;  ///< hex digits of a place's token
inline constexpr std::size_t kGangTag = 16;         ///< hex digits that stand before an instance's

/// What an instance is called in its token: a part of the MD5 of its result's name.
std::string gang_tag(std::string_view result_name);
/// The tag, and its HMAC-SHA256 with the place's token as the key.
std::string gang_instance_token(std::string_view place_token, std::string_view tag);
/// Has sluice_batch made it a member of a gang of its batch? A job's own words may look like such a token.
bool is_gang_member(const Workunit& w);
/// A member's document as the client gets it. One without `--gang_token TOKEN` stays as it is.
std::string with_gang_instance(std::string document, std::string_view result_name);

// What a gang waits for, as gang_planner has found it (docs/gangs.md).

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
