// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/options/assimilated_apps.h"

#include <algorithm>

#include "config/run/command_words.h"
#include "sluice/base/error.h"
#include "sluice/base/text.h"

namespace sluice {

bool may_serve(std::string_view part, std::string_view app, const std::string& command) {
    if (to_lower_ascii(command).find(part) == std::string::npos) return false;
    std::vector<std::string> words;
    try {
        words = command_words(command);
    } catch (const ConfigError&) {  // an open quote: whose it is can't be told
        return true;
    }
    bool names_apps = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::string_view word = words[i];
        if (!word.starts_with('-')) continue;
        word.remove_prefix(word.starts_with("--") ? 2 : 1);
        const std::string_view option = word.substr(0, word.find('='));
        if (option != "app" && option != "appname" && option != "app_name") continue;
        names_apps = true;
        if (option.size() < word.size() ? word.substr(option.size() + 1) == app
                                        : i + 1 < words.size() && words[i + 1] == app)
            return true;
    }
    return !names_apps;
}

bool may_have_assimilator(std::string_view app, const DaemonsAndTasks& entries) {
    const auto is_one = [&](const auto& entry) { return may_serve("assim", app, entry.cmd); };
    return std::ranges::any_of(entries.daemons, is_one) || std::ranges::any_of(entries.tasks, is_one);
}

bool assimilator_is_off(std::string_view app, const DaemonsAndTasks& entries) {
    const auto works = [&](const auto& entry) { return !entry.disabled && may_serve("assim", app, entry.cmd); };
    return may_have_assimilator(app, entries) && std::ranges::none_of(entries.daemons, works) &&
           std::ranges::none_of(entries.tasks, works);
}

}  // namespace sluice
