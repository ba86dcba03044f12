// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the set-up tools write: platforms, apps, app versions, accounts (xadd, update_versions, create_account).
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/user.h"

namespace sluice {

class ProjectSetupStore {
  public:
    virtual ~ProjectSetupStore() = default;
    virtual std::vector<Platform> platforms() = 0;
    virtual std::vector<App> apps() = 0;
    /// The new row's id. Throws DbError(kDuplicate) if the name exists.
    virtual Id add_platform(const Platform& platform, std::int64_t now) = 0;
    virtual Id add_app(const App& app, std::int64_t now) = 0;
    /// Writes user_friendly_name, and of apps min_version, of the rows with these ids.
    virtual void update(const std::vector<Platform>& platforms, const std::vector<App>& apps) = 0;
    /// Writes every setting of an app that project.xml may hold, by its id.
    virtual void write_settings(const App& app) = 0;
    /// Versions of an app, without their xml_doc; by number, platform and plan class.
    virtual std::vector<AppVersion> versions(Id app) = 0;
    virtual void set_deprecated(std::span<const Id> versions, bool deprecated) = 0;
    /// The id of the version with the same app, platform, number and plan class.
    virtual std::optional<Id> find_version(const AppVersion& version) = 0;
    virtual Id add_version(const AppVersion& version, std::int64_t now) = 0;
    /// Documents of app versions, or of workunits among the newest whose files nobody has deleted, name files there.
    virtual bool names_files_at(const std::string& download_url) = 0;
    virtual std::optional<User> user_by_email(const std::string& email) = 0;
    /// An account as the web site would make it: no team, no venue, no preferences, e-mail not validated.
    virtual Id add_user(const User& user) = 0;
};

std::unique_ptr<ProjectSetupStore> make_project_setup_store(Database& db);

}  // namespace sluice
