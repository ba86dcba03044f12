// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <filesystem>
#include <string>

namespace sluice {

/// The project's root: $BOINC_PROJECT_DIR, else "." or ".." if it holds config.xml. Absolute, without symbolic links.
/// Throws ConfigError that says where it looked and what to do.
std::filesystem::path find_project_dir();
/// gethostname() up to the first dot, as in log_HOST.
std::string short_host_name();
std::filesystem::path log_dir(const std::filesystem::path& project);

}  // namespace sluice
