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

/// Groups that `sluice adopt` and `sluice canary` have to give to new files, and that the project's account can't give:
/// without trying it. `refused`: both refuse; else only canary does.
std::vector<PermissionFinding> groups_not_to_give(const std::filesystem::path& project,
                                                  const std::filesystem::path& log_folder);

}  // namespace sluice
