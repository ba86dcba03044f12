// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "config/project/project_xml.h"
#include "sluice/db/project_setup_store.h"
#include "sluice/model/user.h"

namespace sluice {

/// A new account's row, keys and all. `password` empty: nobody can log in with one, the account key is all
/// there is. Throws ConfigError: no e-mail address, no name, too long …
User new_account(const std::string& email, const std::string& name, const std::string& password, std::int64_t now);

/// What the web site stores: bcrypt of md5(password + lower-case e-mail).
std::string stored_password(const std::string& email, const std::string& password);

enum class OfExisting { kKeep, kUpdate };

struct ChangedRows {
    int changed = 0;                 ///< added or updated
    std::vector<std::string> lines;  ///< one for each row wanted: what was done
};

/// Adds the platforms and apps whose names are not in the database yet. Of others user_friendly_name and, where
/// project.xml has one, min_version are brought in step (upstream behaviour).
ChangedRows add_rows(ProjectSetupStore& store, const ProjectXml& wanted, std::int64_t now, OfExisting existing);

}  // namespace sluice
