#pragma once
#include "config/project_config.h"
#include "sluice/db/database.h"

namespace sluice {

/// The project's database.
DbSettings db_settings(const ProjectConfig& config);
/// The read replica; the project's database if none is configured. Reads that never wait.
DbSettings replica_db_settings(const ProjectConfig& config);

}  // namespace sluice
