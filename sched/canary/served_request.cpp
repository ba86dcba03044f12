// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/canary/served_request.h"

#include <algorithm>
#include <cstdlib>

namespace sluice {
namespace {

constexpr char kLetters[] = "srido";  // by ServedHow; 'o': out of order
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

/// A number and the blank behind it.
std::optional<std::int64_t> take_number(std::string_view& line) {
    const std::size_t end = line.find(' ');
    if (end == 0 || end == line.npos || end > 15 || line.substr(0, end).find_first_not_of("0123456789") != line.npos)
        return std::nullopt;
    const std::int64_t value = std::atoll(std::string(line.substr(0, end)).c_str());
    line.remove_prefix(end + 1);
    return value;
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

std::string line_of(const ServedRequest& served) {
    return std::string(served.ours ? "ours " : "theirs ") + kLetters[static_cast<int>(served.how)] + " " +
           std::to_string(served.jobs) + " " + std::to_string(served.microseconds) + " " + served.messages + "\n";
}

std::optional<ServedRequest> served_request(std::string_view line) {
    ServedRequest served;
    served.ours = line.starts_with("ours ");
    if (!served.ours && !line.starts_with("theirs ")) return std::nullopt;
    line.remove_prefix(line.find(' ') + 1);
    const std::size_t how = line.size() > 2 ? std::string_view(kLetters).find(line[0]) : std::string_view::npos;
    if (how == std::string_view::npos || line[1] != ' ') return std::nullopt;
    served.how = static_cast<ServedHow>(how);
    line.remove_prefix(2);
    const auto jobs = take_number(line);
    const auto time = take_number(line);
    if (!jobs || !time || *jobs > 1000000) return std::nullopt;
    served.jobs = static_cast<int>(*jobs);
    served.microseconds = *time;
    served.messages = line;
    return served;
}

std::string figures_file(std::int64_t hour) { return "hour_" + std::to_string(hour); }

}  // namespace sluice
