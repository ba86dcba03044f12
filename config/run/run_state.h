// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace sluice {

/// PROJECT/run_state_HOST.xml: upstream's script reads and writes the same file.
struct RunState {
    bool enabled = false;
    std::map<std::string, double> last_run;  ///< UNIX time, by the task's <cmd>
};

/// A file that is not there is a project that was never started. Throws ConfigError if it is not understood.
RunState read_run_state(const std::filesystem::path& file);
RunState parse_run_state(std::string_view text, const std::string& name);
std::string run_state_text(const RunState& state);
/// Whole or not at all.
void write_run_state(const std::filesystem::path& file, const RunState& state);

}  // namespace sluice
