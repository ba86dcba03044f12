// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What is wrong with the owners and modes of an existing project, and the commands that mend it: docs/security.md.
#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

struct PermissionFinding {
    std::string what;      ///< one line
    std::string command;   ///< to be run as root
    bool refused = false;  ///< start, or a daemon, will not have it
};

/// Looks, changes nothing; what this user may not see is left out. Empty: nobody but the project's user can change what
/// the project runs, signs or believes, and others can't read its secrets. `web_group`: the web server's; empty: that
/// of upload/.
std::vector<PermissionFinding> permission_findings(const std::filesystem::path& project,
                                                   const std::string& web_group = {});

}  // namespace sluice
