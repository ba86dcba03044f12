// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Puts a new project on the disk. What fails half-way is taken away again.
#include <filesystem>
#include <string>
#include <vector>

#include "config/project/new_project.h"

namespace sluice {

// The programs of a project: entries of its bin/ and cgi-bin/ that become the installed ones, or copies of them. Never
// links: BOINC's tools/upgrade copies through them, into the installation and so into every project.

struct InstallSource {
    std::filesystem::path prefix;  ///< holds bin/ and cgi-bin/
    bool copy = false;             ///< copies of programs instead of entries
};

/// Throws ConfigError: the prefix holds no programs.
void check_prefix(const std::filesystem::path& prefix);

/// Puts the programs of these names (empty: all) in place of what is there, each at once. It puts folders where upgrade
/// would put the old cgi, so that upgrade ends before it copies a program. Throws ConfigError of a name that is not
/// known.
void put_programs(const std::filesystem::path& project, const InstallSource& source,
                  const std::vector<std::string>& names);

/// The same for a project that exists: nothing else is touched. Copies where the project has copies, or never had
/// entries. Called by root, this process goes on as the project's owner.
void renew_programs(const std::filesystem::path& project, InstallSource source, const std::vector<std::string>& names);

/// Throws ConfigError: the root is there and not empty.
void check_new_folder(const NewProject& project);

/// Removes the root at the end unless keep() was called: only what this program has made itself.
class ProjectOnDisk {
  public:
    ProjectOnDisk(NewProject& project, const InstallSource& source) : project_(project), source_(source) {}
    ProjectOnDisk(const ProjectOnDisk&) = delete;
    ProjectOnDisk& operator=(const ProjectOnDisk&) = delete;
    ~ProjectOnDisk();
    /// Folders, keys, files, programs. Sets project.web_user_in_group.
    void make();
    /// As root: all of it belongs to the project's user from now on. Throws FileError.
    void give_to_owner();
    void keep() { kept_ = true; }

  private:
    void make_folders();
    void make_keys();
    void make_files();
    NewProject& project_;
    const InstallSource& source_;
    bool kept_ = false, made_ = false;
};

}  // namespace sluice
