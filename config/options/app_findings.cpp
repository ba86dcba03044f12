// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/options/app_findings.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "config/options/daemon_findings.h"
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

namespace {

namespace fs = std::filesystem;

std::vector<std::string> enabled_lines(const DaemonsAndTasks& entries) {
    std::vector<std::string> lines;
    for (const auto& entry : entries.daemons)
        if (!entry.disabled) lines.push_back(entry.cmd);
    for (const auto& entry : entries.tasks)
        if (!entry.disabled) lines.push_back(entry.cmd);
    return lines;
}

/// Programs that have --app and do something else. What is none of them may do anything.
bool does_something_else(const std::string& line) {
    static constexpr std::string_view kParts[] = {"valid",  "assim",   "feeder", "transitioner", "regulator",
                                                  "census", "delete",  "purge",  "work",         "batch",
                                                  "gang",   "trickle", "stats",  "dump",         "scheduler"};
    const std::string small = to_lower_ascii(line);
    return std::ranges::any_of(kParts, [&](std::string_view part) { return small.find(part) != small.npos; });
}

bool names_app(const std::string& app, const std::string& line) {
    try {
        const auto words = command_words(line);
        return std::ranges::any_of(words,
                                   [&](const std::string& word) { return word == app || word.ends_with("=" + app); });
    } catch (const ConfigError&) {  // an open quote
        return true;
    }
}

bool is_served(std::string_view part, const std::string& app, const std::vector<std::string>& lines) {
    return std::ranges::any_of(lines, [&](const std::string& line) {
        return may_serve(part, app, line) || (!does_something_else(line) && names_app(app, line));
    });
}

/// The values of `--option VALUE` and `--option=VALUE`.
std::vector<std::string> values_of(std::string_view option, const std::vector<std::string>& words) {
    std::vector<std::string> values;
    for (std::size_t i = 1; i < words.size(); ++i) {
        std::string_view word = words[i];
        if (!word.starts_with('-')) continue;
        word.remove_prefix(word.starts_with("--") ? 2 : 1);
        if (word == option && i + 1 < words.size()) values.push_back(words[i + 1]);
        if (word.starts_with(option) && word.substr(option.size()).starts_with('='))
            values.emplace_back(word.substr(option.size() + 1));
    }
    return values;
}

std::string why_not_callable(const fs::path& script) {
    std::error_code ignored;
    if (!fs::exists(script, ignored))
        return fmt::format("there is no {0}: put the script there, then chmod a+rx {0}", script.string());
    if (!fs::is_regular_file(script, ignored)) return fmt::format("{} is not a file", script.string());
    if (::access(script.c_str(), X_OK) != 0)
        return fmt::format("{0} can't be executed: chmod a+rx {0}", script.string());
    return "";
}

}  // namespace

std::vector<std::string> unserved_apps(std::span<const App> apps, const DaemonsAndTasks& entries) {
    const auto lines = enabled_lines(entries);
    std::vector<std::string> found;
    for (const App& app : apps) {
        if (app.deprecated) continue;
        if (!is_served("valid", app.name, lines))
            found.push_back(fmt::format(
                "app {0} has no validator among the <daemons>: its results are never checked, and nobody gets credit "
                "(unless something else runs one); add <daemon><cmd>sample_bitwise_validator --app {0}</cmd></daemon>, "
                "or the project's own",
                app.name));
        if (!is_served("assim", app.name, lines))
            found.push_back(fmt::format(
                "app {0} has no assimilator among the <daemons>: nobody takes its results, and its files are never "
                "deleted (unless something else runs one); add <daemon><cmd>script_assimilator --app {0} --script "
                "\"SCRIPT files\"</cmd></daemon>, or the project's own",
                app.name));
    }
    return found;
}

std::vector<std::string> scripts_that_fail(const DaemonsAndTasks& entries, const fs::path& bin) {
    std::vector<std::string> found;
    for (const auto& words : enabled_commands(entries)) {
        const std::string program = program_name(words);
        if (program != "script_assimilator" && program != "script_validator") continue;
        for (const char* option : {"script", "init_script", "compare_script", "json_script"}) {
            for (const std::string& value : values_of(option, words)) {
                const auto parts = split(trim(value), ' ');
                const std::string name(parts[0]);
                const std::string why = name.empty() ? "it names none" : why_not_callable(bin / name);
                if (!why.empty())
                    found.push_back(fmt::format("--{} of '{}' can't be called: {}", option, program, why));
            }
        }
    }
    return found;
}

}  // namespace sluice
