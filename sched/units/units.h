// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The systemd units of a project, from its config.xml: a target, a service for each daemon, a service and a timer for
// each task. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "config/run/configured_programs.h"

namespace sluice {

struct UnitsOf {
    std::string name;     ///< of the project, in the names of units
    std::string account;  ///< that runs it
    std::string start;    ///< the program `start` of this installation
    HostFolders folders;
    std::vector<std::string> writable;     ///< folders besides the project's own
    std::string private_key;               ///< that signs programs: no daemon may read it
    std::vector<std::string> environment;  ///< NAME=VALUE
    bool journal = false;                  ///< output goes to the journal, not to log_HOST
};

struct UnitFile {
    std::string name, text;
};

/// "sluice@tiles.target"
std::string target_name(const std::string& project);
/// The target first. Programs of config.xml that are disabled or can't be started have none.
std::vector<UnitFile> unit_files(const UnitsOf& of, const ConfiguredPrograms& programs);
/// `sluice units` wrote that file for that project.
bool is_unit_of(std::string_view text, const std::string& project);

}  // namespace sluice
