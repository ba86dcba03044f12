#pragma once
// config.xml and config_aux.xml -> ProjectConfig. Stands for upstream's SCHED_CONFIG::parse; more tolerant of
// shape (an empty pair of a boolean is false, an unknown tag is a warning), stricter about values (junk is an
// error).
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/project_config.h"

namespace sluice {

struct LoadedConfig {
    ProjectConfig config;
    std::vector<std::string> warnings;  ///< one line each: unknown tags (once per name), bad regular expressions
};

/// Every option at its default of `compat_level` (0 or 1), nothing resolved.
ProjectConfig default_config(int compat_level);

/// Of PROJECT/config.xml and, if there is one, PROJECT/config_aux.xml. Throws ConfigError that names file,
/// tag, value and what is allowed.
LoadedConfig load_config(const std::filesystem::path& project);
/// The same of another file than PROJECT/config.xml (start --config-file).
LoadedConfig load_config_file(const std::filesystem::path& file, const std::filesystem::path& project);
/// load_config(); each warning goes to the log.
ProjectConfig load_config_and_warn(const std::filesystem::path& project);
/// From texts. `name` and `aux_name` are what messages call the files. `aux` may be empty.
LoadedConfig parse_config(std::string_view text, const std::string& name, std::string_view aux = {},
                          const std::string& aux_name = "config_aux.xml");

/// The <daemons> and <tasks> of config.xml.
struct DaemonsAndTasks {
    std::vector<DaemonEntry> daemons;
    std::vector<TaskEntry> tasks;
    std::vector<std::string> warnings;
};
/// Throws ConfigError: no <cmd>, a bad period …
DaemonsAndTasks parse_daemons_and_tasks(std::string_view text, const std::string& name);

/// Throws ConfigError that lists `known` if <score_weights> names a term that is not among them.
void check_score_weights(const ProjectConfig& config, std::span<const std::string_view> known);

}  // namespace sluice
