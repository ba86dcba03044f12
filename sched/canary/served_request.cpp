// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/canary/served_request.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr std::size_t kMostMessages = 600;

bool is_there(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

int count_of(std::string_view text, std::string_view part) {
    int n = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++n;
    return n;
}

/// The texts of <message …>, in one line.
std::string messages_of(std::string_view reply) {
    std::string all;
    for (std::size_t at = 0; (at = reply.find("<message", at)) != reply.npos;) {
        const std::size_t begin = reply.find('>', at), end = reply.find("</message>", at);
        if (begin >= end || end == reply.npos) break;
        if (!all.empty()) all += '|';
        all += reply.substr(begin + 1, end - begin - 1);
        at = end;
    }
    all.resize(std::min(all.size(), kMostMessages));
    std::ranges::replace_if(
        all, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
    return all;
}

}  // namespace

ServedRequest judge_reply(std::string_view output, bool asks, bool exited_well) {
    ServedRequest served;
    if (!exited_well || !is_there(output, "<scheduler_reply") || !is_there(output, "</scheduler_reply>")) return served;
    served.jobs = count_of(output, "<result>");
    served.how = is_there(output, "<project_is_down/>") ? ServedHow::kDown
                 : served.jobs > 0                      ? ServedHow::kSent
                 : asks                                 ? ServedHow::kRefused
                                                        : ServedHow::kIdle;
    if (served.how == ServedHow::kDown || served.how == ServedHow::kRefused) served.messages = messages_of(output);
    return served;
}

}  // namespace sluice
