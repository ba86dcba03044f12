#include "config/db_settings.h"

namespace sluice {

DbSettings db_settings(const ProjectConfig& config) {
    DbSettings settings;
    settings.host = config.db_host;
    settings.name = config.db_name;
    settings.user = config.db_user;
    settings.password = config.db_passwd;
    return settings;
}

DbSettings replica_db_settings(const ProjectConfig& config) {
    DbSettings settings;
    settings.host = config.replica_db_host;
    settings.name = config.replica_db_name;
    settings.user = config.replica_db_user;
    settings.password = config.replica_db_passwd;
    settings.read_uncommitted = true;
    return settings;
}

}  // namespace sluice
