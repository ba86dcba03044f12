// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/options/enabled_commands.h"

#include "config/run/command_words.h"
#include "sluice/base/error.h"

namespace sluice {

std::vector<std::vector<std::string>> enabled_commands(const DaemonsAndTasks& entries) {
    std::vector<std::vector<std::string>> all;
    const auto add = [&all](const auto& list) {
        for (const auto& entry : list) {
            if (entry.disabled) continue;
            try {
                all.push_back(command_words(entry.cmd));
            } catch (const ConfigError&) {  // an open quote: named elsewhere
            }
        }
    };
    add(entries.daemons);
    add(entries.tasks);
    return all;
}

}  // namespace sluice
