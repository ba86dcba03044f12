// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the machine tells: room on its disks, and the web server's configuration as far as it can be found.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/project_config.h"
#include "sched/check/finding.h"

namespace sluice {

/// Disks that are almost full: of the project, its files, /dev/shm.
std::vector<Finding> room_findings(const std::filesystem::path& project, const ProjectConfig& config);

/// Lines of a web server's configuration that let strangers read keys and passwords: they open the project's folder.
std::vector<std::string> lines_that_open(std::string_view text, const std::filesystem::path& project);

/// In `folders`, and beside config.xml. Says also if no file mentions the project.
std::vector<Finding> web_server_findings(const std::filesystem::path& project,
                                         const std::vector<std::filesystem::path>& folders);

/// Where Debian, Red Hat and nginx keep theirs.
std::vector<std::filesystem::path> web_server_folders();

}  // namespace sluice
