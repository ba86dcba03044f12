// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string>

#include "sluice/model/records.h"

namespace sluice {

/// A new account's row, keys and all. `password` empty: nobody can log in with one, the account key is all
/// there is. Throws ConfigError: no e-mail address, no name, too long …
User new_account(const std::string& email, const std::string& name, const std::string& password, std::int64_t now);

/// What the web site stores: bcrypt of md5(password + lower-case e-mail).
std::string stored_password(const std::string& email, const std::string& password);

}  // namespace sluice
