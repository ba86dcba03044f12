// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Puts a new project on the disk. What fails half-way is taken away again.
#include <filesystem>
#include <string>

#include "config/project/make_project/programs.h"
#include "config/project/new_project.h"

namespace sluice {

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
