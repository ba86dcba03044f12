// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The programs of a project: entries of its bin/ and cgi-bin/ that become the installed ones, or copies of them. Never
// links: BOINC's tools/upgrade copies through them, into the installation and so into every project.
#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

struct InstallSource {
    std::filesystem::path prefix;  ///< holds bin/ and cgi-bin/
    bool copy = false;             ///< copies of programs instead of entries
};

/// Throws ConfigError: the prefix holds no programs.
void check_prefix(const std::filesystem::path& prefix);

/// Puts the programs of these names (empty: all) in place of what is there, each at once, and folders where upgrade
/// would put the old cgi: it ends there, before it copies a program. Throws ConfigError of a name that is not known.
void put_programs(const std::filesystem::path& project, const InstallSource& source,
                  const std::vector<std::string>& names);

/// The same for a project that exists: nothing else is touched. Copies where the project has copies, or never had
/// entries. Called by root, this process goes on as the project's owner.
void renew_programs(const std::filesystem::path& project, InstallSource source, const std::vector<std::string>& names);

}  // namespace sluice
