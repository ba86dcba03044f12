// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string>

#include "config/project_config.h"
#include "sluice/db/project_setup_store.h"

namespace sluice {

/// <download_dir> has no file, and the database knows of files there: its file system may not be mounted. Whoever wrote
/// files then would write them below the mount point. "": nothing is wrong.
std::string missing_download_files(const ProjectConfig& config, ProjectSetupStore& store);

}  // namespace sluice
