// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the front saw of one request, as a line of a file: one file an hour. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// Bytes of one hour; what comes then is served and not counted.
inline constexpr std::int64_t kLongestFigures = 256 << 20;

enum class ServedHow {
    kSent,     ///< jobs, resent ones included
    kRefused,  ///< it asked for work, and got no job
    kIdle,     ///< it asked for none
    kDown,     ///< it was told that the project is down
    kFailed    ///< no whole reply, or the program failed
};

struct ServedRequest {
    bool ours = false;
    ServedHow how = ServedHow::kFailed;
    int jobs = 0;
    std::int64_t microseconds = 0;  ///< from the whole request to the whole reply
    std::string messages{};         ///< of a reply without jobs: what a volunteer reads, with '|' between them
};

/// `asks`: asks_for_work(). `output`: all that the scheduler wrote.
ServedRequest judge_reply(std::string_view output, bool asks, bool exited_well);

/// Short enough that several processes may append theirs to one file at the same time.
std::string line_of(const ServedRequest& served);
/// nullopt: nobody of ours has written that.
std::optional<ServedRequest> served_request(std::string_view line);

/// Of an hour, in hours since 1970.
std::string figures_file(std::int64_t hour);

}  // namespace sluice
