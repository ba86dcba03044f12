// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the front saw of one request. Pure.
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

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
    std::int64_t microseconds = 0;  ///< from the request's first 256 KB to the whole reply
    std::string messages{};         ///< of a reply without jobs: what a volunteer reads, with '|' between them
};

/// `asks`: asks_for_work(). `output`: all that the scheduler wrote.
ServedRequest judge_reply(std::string_view output, bool asks, bool exited_well);

}  // namespace sluice
