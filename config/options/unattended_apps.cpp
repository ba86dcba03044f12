// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/options/unattended_apps.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "config/options/enabled_commands.h"
#include "config/run/command_words.h"

namespace sluice {
namespace {

using Words = std::vector<std::string>;

/// `--app_name NAME` and `--app_name=NAME`, as often as it stands there.
std::set<std::string> app_names(const Words& words) {
    static constexpr std::string_view kOption = "--app_name";
    std::set<std::string> names;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == kOption && i + 1 < words.size()) names.insert(words[i + 1]);
        if (words[i].starts_with("--app_name=")) names.insert(words[i].substr(kOption.size() + 1));
    }
    return names;
}

}  // namespace

std::vector<std::string> unattended_apps(std::span<const App> apps, const DaemonsAndTasks& entries,
                                         std::span<const std::string> in_section) {
    std::set<std::string> regulated;
    bool measured = false;
    for (const Words& words : enabled_commands(entries)) {
        const std::string program = program_name(words);
        // The second is upstream's.
        if (program == "size_census" || program == "size_census.php")
            measured = measured || std::ranges::find(words, "--advise") == words.end();
        if (program != "size_regulator") continue;
        const std::set<std::string> named = app_names(words);
        regulated.insert(named.begin(), named.end());
        if (named.empty()) regulated.insert(in_section.begin(), in_section.end());
    }
    std::vector<std::string> lines;
    for (const App& app : apps) {
        if (regulated.contains(app.name)) continue;
        lines.push_back(fmt::format(
            "app {} has {} size classes, but no size_regulator among the <daemons>: its jobs stay INACTIVE and are "
            "never sent (unless something else runs one); add <daemon><cmd>size_regulator --app_name {} --lo 100 "
            "--hi 500 --sleep_time 10</cmd></daemon>",
            app.name, app.size_classes(), app.name));
    }
    if (!apps.empty() && !measured)
        lines.push_back(fmt::format(
            "app {} has {} size classes, but no size_census is among the <tasks>: no host has a size class (unless "
            "something else runs it); add <task><cmd>size_census</cmd><period>1 day</period></task>",
            apps[0].name, apps[0].size_classes()));
    return lines;
}

}  // namespace sluice
