// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// config.xml and config_aux.xml -> ProjectConfig. Stands for upstream's SCHED_CONFIG::parse. It tolerates more: an
// empty pair of a boolean is false, an unknown tag is a warning. A warning names every wrong value that it ignores.
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/project_config.h"

namespace sluice {

struct LoadedConfig {
    ProjectConfig config;
    std::vector<std::string> warnings;  ///< one line each: unknown tags (once per name), a folder that is not there
    std::vector<std::string> errors;    ///< one line each: values that are not allowed; their options go without them
};

/// Every option at its default of `compat_level` (0 or 1), nothing resolved.
ProjectConfig default_config(int compat_level);

/// Of PROJECT/config.xml and, if there is one, PROJECT/config_aux.xml. Throws ConfigError if a file can't be understood
/// (a tag is not closed), or if a value that leads to rows and files is wrong. The error names file, tag, value and
/// what is allowed.
LoadedConfig load_config(const std::filesystem::path& project);
/// The same of another file than PROJECT/config.xml (start --config-file).
LoadedConfig load_config_file(const std::filesystem::path& file, const std::filesystem::path& project);
/// To the log, a line each.
void log_problems(const LoadedConfig& loaded);
/// load_config(); errors and warnings go to the log.
ProjectConfig load_config_and_warn(const std::filesystem::path& project);
/// From texts. `name` and `aux_name` are what messages call the files. `aux` may be empty.
LoadedConfig parse_config(std::string_view text, const std::string& name, std::string_view aux = {},
                          const std::string& aux_name = "config_aux.xml");

/// The <daemons> and <tasks> of config.xml.
struct DaemonsAndTasks {
    std::vector<DaemonEntry> daemons;
    std::vector<TaskEntry> tasks;  ///< a period that is none is 0
    std::vector<std::string> warnings;
    std::vector<std::string> errors;  ///< of entries that can't be started: no <cmd>, a bad period
};
/// Throws ConfigError where tags are not closed.
DaemonsAndTasks parse_daemons_and_tasks(std::string_view text, const std::string& name);

/// Weights of terms that are not among `known` leave the configuration, each with an error.
void drop_unknown_weights(LoadedConfig& loaded, std::span<const std::string_view> known);

}  // namespace sluice
