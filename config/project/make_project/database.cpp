// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/project/make_project/database.h"

#include <fmt/format.h>

#include "config/project/add_rows.h"
#include "config/project/templates.h"
#include "sluice/base/clock.h"
#include "sluice/base/error.h"
#include "sluice/db/database_maker.h"

namespace sluice {
namespace {

DbSettings admin_settings(const NewProject& project, const DatabaseOptions& options) {
    DbSettings settings;
    settings.host = project.db_host;
    settings.ssl_ca = project.db_ssl_ca;
    const bool admin = !options.admin_user.empty();
    settings.user = admin ? options.admin_user : project.db_user;
    settings.password = admin ? options.admin_passwd : project.db_passwd;
    return settings;
}

bool is_local(const std::string& host) { return host.empty() || host == "localhost"; }

}  // namespace

ProjectDatabase::ProjectDatabase(const NewProject& project, const DatabaseOptions& options)
    : project_(project), options_(options), admin_(admin_settings(project, options)) {}

ProjectDatabase::~ProjectDatabase() {
    if (!created_ || kept_) return;
    try {
        DatabaseMaker(admin_).drop(project_.db_name);
    } catch (const DbError&) {  // the failure that brought us here is being said
    }
}

DbSettings ProjectDatabase::account() const {
    DbSettings settings;
    settings.host = project_.db_host;
    settings.ssl_ca = project_.db_ssl_ca;
    settings.name = project_.db_name;
    settings.user = project_.db_user;
    settings.password = project_.db_passwd;
    return settings;
}

void ProjectDatabase::check() {
    try {
        const DatabaseState state = DatabaseMaker(admin_).state(project_.db_name);
        if (state != DatabaseState::kInUse || options_.drop_first || options_.keep) return;
    } catch (const DbError& error) {
        throw ConfigError(fmt::format(
            "{} (there is none yet: --db_host, --db_socket, {} say it here)", error.what(),
            options_.admin_user.empty() ? "--db_user and --db_passwd_file" : "--db_admin and --db_admin_passwd_file"));
    }
    throw ConfigError(
        fmt::format("The database '{}' has tables already: choose another --db_name, or say --keep_db to use "
                    "them as they are, or --drop_db_first to lose them",
                    project_.db_name));
}

void ProjectDatabase::make() {
    DatabaseMaker maker(admin_);
    DatabaseState state = maker.state(project_.db_name);
    if (options_.drop_first && state != DatabaseState::kAbsent) {
        maker.drop(project_.db_name);
        state = DatabaseState::kAbsent;
    }
    try {
        if (state == DatabaseState::kAbsent) {
            maker.create(project_.db_name);
            created_ = true;
        }
        if (!options_.admin_user.empty()) {
            maker.grant(project_.db_name, account(), is_local(project_.db_host) ? "localhost" : "%");
        }
    } catch (const DbError& error) {
        throw ConfigError(
            fmt::format("{} (an account that may make databases and users: --db_admin root)", error.what()));
    }
    Database db(account());
    if (state != DatabaseState::kInUse) load_schema(db);
    const auto store = make_project_setup_store(db);
    const ProjectXml rows = parse_project_xml(template_text("project.xml"), "project.xml");
    db.transaction([&] { add_rows(*store, rows, SystemClock().now_sec(), OfExisting::kKeep); });
}

}  // namespace sluice
