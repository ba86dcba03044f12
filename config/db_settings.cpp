// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/db_settings.h"

#include "sluice/base/error.h"

namespace sluice {

void require_database(const ProjectConfig& config) {
    if (!config.db_name.empty()) return;
    throw ConfigError((std::filesystem::path(config.project_dir) / "config.xml").string() +
                      ": <db_name> is missing: name the project's database there, with <db_user> and <db_passwd>");
}

DbSettings db_settings(const ProjectConfig& config) {
    require_database(config);
    DbSettings settings;
    settings.host = config.db_host;
    settings.name = config.db_name;
    settings.user = config.db_user;
    settings.password = config.db_passwd;
    settings.ssl_ca = config.db_ssl_ca;
    return settings;
}

DbSettings replica_db_settings(const ProjectConfig& config) {
    DbSettings settings = db_settings(config);
    settings.host = config.replica_db_host;
    settings.name = config.replica_db_name;
    settings.user = config.replica_db_user;
    settings.password = config.replica_db_passwd;
    settings.read_uncommitted = true;
    return settings;
}

}  // namespace sluice
