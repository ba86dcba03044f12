// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Whose key is it? Asked before a long request is read as well as when it is handled.
#include <optional>
#include <string>
#include <string_view>

#include "sluice/db/account_store.h"

namespace sluice {

struct User;

/// Is `key` the weak key of this account (USERID_HASH), which may do less?
bool weak_key_matches(const User& user, const std::string& key);
/// The account that a key, strong or weak, belongs to.
std::optional<Account> account_of_key(AccountStore& accounts, const std::string& key);
/// Does the beginning of a request hold the key of an account? Throws what the database throws.
bool account_is_known(AccountStore& accounts, std::string_view beginning);

}  // namespace sluice
