// SPDX-License-Identifier: LGPL-3.0-or-later
// The <daemons> and <tasks> of config.xml, for start, stop and status.
#include <fmt/format.h>

#include <optional>

#include "config/config_element.h"
#include "config/load.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

std::string problem_at(const std::string& file, const ConfigElement& entry, const std::string& problem) {
    return fmt::format("{}: <{}> with <cmd>{}</cmd>: {}", file, entry.name, in_one_line(entry.child_text("cmd")),
                       problem);
}

/// "0" or not there: off. Anything else, an empty element included, is on: upstream's help says so.
bool switched_on(const ConfigElement& entry, std::string_view name) {
    const ConfigElement* found = entry.child(name);
    return found != nullptr && found->text != "0";
}

/// "N" minutes or "N unit"; the unit's first letter counts, except that "mo" is months. nullopt: neither.
std::optional<double> parse_period(const std::string& given) {
    const std::string text = to_lower_ascii(given);
    const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    const auto number = parse_double(std::string_view(text).substr(0, digits));
    const std::string_view unit = trim(std::string_view(text).substr(digits));
    double factor = 0;
    if (unit.empty())
        factor = 60;
    else if (unit.starts_with("mo"))
        factor = 30 * 86400;
    else if (unit.front() == 's')
        factor = 1;
    else if (unit.front() == 'm')
        factor = 60;
    else if (unit.front() == 'h')
        factor = 3600;
    else if (unit.front() == 'd')
        factor = 86400;
    else if (unit.front() == 'w')
        factor = 7 * 86400;
    if (!number || *number <= 0 || factor == 0) return std::nullopt;
    return *number * factor;
}

/// What is wrong with an entry, for `errors`; "" if nothing is.
std::string problem_of(const std::string& file, const ConfigElement& entry) {
    if (entry.child_text("cmd").empty()) return problem_at(file, entry, "has no <cmd>, or an empty one");
    if (entry.name == "daemon" || parse_period(entry.child_text("period"))) return "";
    return problem_at(
        file, entry,
        fmt::format("<period>{}</period> must be a number above 0 and a unit: seconds, minutes (the default), "
                    "hours, days, weeks or months",
                    in_one_line(entry.child_text("period"))));
}

/// What daemons and tasks have in common.
template <typename Entry>
Entry to_entry(const ConfigElement& given) {
    Entry entry;
    entry.cmd = given.child_text("cmd");
    entry.output = given.child_text("output");
    entry.lock_file = given.child_text("lock_file");
    entry.host = given.child_text("host");
    entry.disabled = switched_on(given, "disabled");
    entry.use_shell = switched_on(given, "use_shell");
    return entry;
}

DaemonEntry to_daemon(const ConfigElement& entry) {
    auto daemon = to_entry<DaemonEntry>(entry);
    daemon.pid_file = entry.child_text("pid_file");
    daemon.silent_start = switched_on(entry, "silent_start");
    return daemon;
}

TaskEntry to_task(const ConfigElement& entry) {
    auto task = to_entry<TaskEntry>(entry);
    task.period = parse_period(entry.child_text("period")).value_or(0);
    task.always_run = switched_on(entry, "always_run");
    return task;
}

/// The children of one <daemons> or <tasks>.
void read_entries(XmlReader& reader, std::string_view text, const std::string& file, DaemonsAndTasks& found) {
    const ConfigElement group = read_element(reader, text, file);
    for (const ConfigElement& entry : group.children) {
        if (group.name == "daemons" && entry.name == "daemon") {
            found.daemons.push_back(to_daemon(entry));
        } else if (group.name == "tasks" && entry.name == "task") {
            found.tasks.push_back(to_task(entry));
        } else {
            found.warnings.push_back(fmt::format("{}: unknown element <{}> in <{}> is ignored", file,
                                                 in_one_line(entry.name), in_one_line(group.name)));
            continue;
        }
        if (std::string problem = problem_of(file, entry); !problem.empty()) found.errors.push_back(std::move(problem));
    }
}

}  // namespace

DaemonsAndTasks parse_daemons_and_tasks(std::string_view text, const std::string& name) {
    DaemonsAndTasks found;
    XmlReader reader(text);
    for (XmlReader::Kind kind = reader.next(); kind != XmlReader::Kind::kEof; kind = reader.next()) {
        if (kind != XmlReader::Kind::kStart) continue;
        if (reader.name() == "config")
            skip_element(reader, text, name);
        else if (reader.name() == "daemons" || reader.name() == "tasks")
            read_entries(reader, text, name, found);
    }
    return found;
}

}  // namespace sluice
