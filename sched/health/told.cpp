// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/health/told.h"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr std::string_view kToldHead = "sluice health told 2";
using States = std::map<std::string, std::string, std::less<>>;

/// "daemons=broken disks=degraded".
std::string text_of(const States& states) {
    std::string text;
    for (const auto& [id, state] : states) text += fmt::format("{}{}={}", text.empty() ? "" : " ", id, state);
    return text;
}

States states_in(std::string_view text) {
    States states;
    for (const std::string_view word : split(text, ' '))
        if (const std::size_t end = word.find('='); end != word.npos)
            states.emplace(word.substr(0, end), word.substr(end + 1));
    return states;
}

std::string state_in(const States& states, const std::string& id) {
    const auto found = states.find(id);
    return found == states.end() ? health_word(Health::kWell) : found->second;
}

void set_state(States& states, const std::string& id, const std::string& state) {
    if (state == health_word(Health::kWell))
        states.erase(id);
    else
        states[id] = state;
}

}  // namespace

HealthTold HealthTold::parse(std::string_view text) {
    const auto lines = split(text, '\n');
    if (lines.size() < 4 || lines[0] != kToldHead) return {};
    return {states_in(lines[1]), states_in(lines[2]), std::clamp(parse_double(lines[3]).value_or(0), 0.0, 1e12)};
}

std::string HealthTold::text() const {
    return fmt::format("{}\n{}\n{}\n{:.3f}\n", kToldHead, text_of(seen), text_of(told), at);
}

bool is_news(const std::vector<HealthCheck>& checks, double now, HealthTold& told) {
    bool news = false;
    for (const HealthCheck& check : checks) {
        const std::string state = health_word(check.health);
        const bool lasts = state_in(told.seen, check.id) == state;
        set_state(told.seen, check.id, state);
        news = news || (lasts && state_in(told.told, check.id) != state);
    }
    if (!told.told.empty() && (now >= told.at + kRemindAfter || now < told.at)) news = true;
    if (news) told.told = told.seen, told.at = now;
    return news;
}

}  // namespace sluice
