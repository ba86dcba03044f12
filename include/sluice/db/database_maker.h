// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Makes a project's database on a server. Not a store: it works before there is anything to store in.
#include <string>

#include "sluice/db/database.h"

namespace sluice {

enum class DatabaseState {
    kAbsent,
    kEmpty,  ///< it exists and has no tables
    kInUse   ///< it has tables
};

class DatabaseMaker {
  public:
    /// `admin` may be connected to no database (DbSettings::name empty).
    /// `patience`: s for another make_project that is just giving an account its rights.
    explicit DatabaseMaker(Database& admin, int patience = 60) : admin_(admin), patience_(patience) {}
    DatabaseState state(const std::string& name);
    void create(const std::string& name);
    void drop(const std::string& name);
    /// All rights on `name` for user@host. Makes the account if it is not there, and then returns true. Gives an
    /// account that may do nothing else this password. Throws ConfigError for one that may do more, unless it has the
    /// password, and where another make_project does not come to an end.
    bool grant(const std::string& name, const DbSettings& account, const std::string& from_host);
    void drop_account(const std::string& user, const std::string& from_host);

  private:
    void wait_for_others();
    Database& admin_;
    int patience_;
};

/// db/schema.sql, as it was when this program was built, into the connected database.
void load_schema(Database& db);

}  // namespace sluice
