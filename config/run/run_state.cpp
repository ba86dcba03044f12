// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/run/run_state.h"

#include <fmt/format.h>

#include "config/config_element.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"

namespace sluice {
namespace {

[[noreturn]] void fail(const std::string& name, const std::string& problem) {
    throw ConfigError(fmt::format("{}: {}; remove the file (tasks then run anew) and run start", name, problem));
}

void read_task(const ConfigElement& task, const std::string& name, RunState& state) {
    const auto last_run = parse_double(task.child_text("last_run"));
    if (!last_run) fail(name, fmt::format("<last_run>{}</last_run> is not a time", task.child_text("last_run")));
    if (const std::string cmd = task.child_text("cmd"); !cmd.empty()) state.last_run[cmd] = *last_run;
}

}  // namespace

RunState parse_run_state(std::string_view text, const std::string& name) {
    RunState state;
    XmlReader reader(text);
    bool found = false;
    for (XmlReader::Kind kind = reader.next(); kind != XmlReader::Kind::kEof; kind = reader.next()) {
        if (kind != XmlReader::Kind::kStart) continue;
        if (reader.name() == "enabled") {
            found = true;
            const ConfigElement element = read_element(reader, text, name);
            const std::string flag = to_lower_ascii(element.text);  // old scripts wrote True and False
            const auto value = flag == "true" ? 1 : flag == "false" ? 0 : parse_int(flag);
            if (!value) fail(name, fmt::format("<enabled>{}</enabled> is not 0 or 1", element.text));
            state.enabled = *value != 0;
        } else if (reader.name() == "tasks") {
            found = true;
            for (const ConfigElement& task : read_element(reader, text, name).children) read_task(task, name, state);
        }
    }
    if (!found && !trim(text).empty()) fail(name, "there is neither <enabled> nor <tasks>");
    return state;
}

RunState read_run_state(const std::filesystem::path& file) {
    const auto text = read_trusted_file(file, 1 << 20);
    return text ? parse_run_state(*text, file.string()) : RunState();
}

std::string run_state_text(const RunState& state) {
    std::string text = "<?xml version=\"1.0\" ?>\n<boinc>\n  <tasks>\n";
    for (const auto& [cmd, last_run] : state.last_run) {
        text += fmt::format("    <task>\n      <cmd>{}</cmd>\n      <last_run>{:.3f}</last_run>\n    </task>\n",
                            xml_escape(cmd), last_run);
    }
    return text + fmt::format("  </tasks>\n  <enabled>{}</enabled>\n</boinc>\n", state.enabled ? 1 : 0);
}

void write_run_state(const std::filesystem::path& file, const RunState& state) {
    write_file_atomically(file, run_state_text(state));
}

}  // namespace sluice
