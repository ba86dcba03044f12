// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <filesystem>

#include "config/load.h"

namespace sluice {

/// What "not given" means once the file has been read: folders below the project, the replica's database,
/// values where 0 stands for another number. `project`: where config.xml was found; empty: not known, folders
/// stay empty.
void resolve_config(const std::filesystem::path& project, LoadedConfig& loaded);

}  // namespace sluice
