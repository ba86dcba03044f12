// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What another scheduler answered, read from the reply that it wrote: jobs, and the reasons that a volunteer reads.
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/model/codes.h"

namespace sluice {

struct TheirJob {
    std::string result, app, plan_class;
};

struct TheirReply {
    bool is_reply = false;  ///< a <scheduler_reply> that ends
    Id hostid = 0;          ///< 0: it tells the client none
    double delay = 0;       ///< s, until the next request
    std::vector<TheirJob> jobs;
    std::vector<std::string> messages;
};

/// Reads at most kMostTheirJobs jobs and as many messages. Never throws on any input.
TheirReply read_their_reply(std::string_view text);
inline constexpr std::size_t kMostTheirJobs = 10000;

/// The reasons that messages name, by the names that sched_explain uses. A text that names none is left out.
std::set<std::string> told_reasons(const std::vector<std::string>& messages);
/// Of several the one that says most: what ends a request before the job array is looked at goes first. "": none.
std::string main_reason(const std::set<std::string>& told);

}  // namespace sluice
