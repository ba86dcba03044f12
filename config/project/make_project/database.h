// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <optional>
#include <string>

#include "config/project/new_project.h"
#include "sluice/db/database.h"

namespace sluice {

struct DatabaseOptions {
    bool none = false;                     ///< --no_db
    bool drop_first = false;               ///< --drop_db_first
    bool keep = false;                     ///< --keep_db: use the tables that are there
    std::string admin_user, admin_passwd;  ///< not empty: makes the database and its user
};

/// Makes a new project's database; what it has made is dropped at the end unless keep() was called.
class ProjectDatabase {
  public:
    ProjectDatabase(const NewProject& project, const DatabaseOptions& options);
    ProjectDatabase(const ProjectDatabase&) = delete;
    ProjectDatabase& operator=(const ProjectDatabase&) = delete;
    ~ProjectDatabase();
    /// Throws ConfigError if there is a project in the database already and nothing was said about it.
    void check();
    /// Database, user and rights, tables, platforms.
    void make();
    void keep() { kept_ = true; }

  private:
    DbSettings account() const;
    const NewProject& project_;
    const DatabaseOptions& options_;
    Database admin_;
    bool kept_ = false, created_ = false;
};

}  // namespace sluice
