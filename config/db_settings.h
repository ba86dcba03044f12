// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "config/project_config.h"
#include "sluice/db/database.h"

namespace sluice {

/// Throws ConfigError that says what is missing if config.xml names no database.
void require_database(const ProjectConfig& config);
/// The project's database. Throws as require_database() does.
DbSettings db_settings(const ProjectConfig& config);
/// The read replica, likewise; the project's database if none is configured. Reads that never wait.
DbSettings replica_db_settings(const ProjectConfig& config);

}  // namespace sluice
