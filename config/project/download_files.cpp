// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/project/download_files.h"

#include <fmt/format.h>

#include <filesystem>

#include "sluice/base/download_folder.h"

namespace sluice {

std::string missing_download_files(const ProjectConfig& config, ProjectSetupStore& store) {
    std::error_code unknown;
    if (config.download_url.empty() || !std::filesystem::is_directory(config.download_dir, unknown) ||
        has_files(config.download_dir) || !store.names_files_at(config.download_url))
        return "";
    return fmt::format(
        "the download folder {0} has no file, and app versions or jobs have files there: is a file system not mounted? "
        "(If it is empty on purpose, put a file into it: touch {0}/README)",
        config.download_dir);
}

}  // namespace sluice
