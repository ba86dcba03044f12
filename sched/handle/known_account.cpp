// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/handle/known_account.h"

#include "sluice/base/hash.h"
#include "sluice/base/text.h"
#include "sluice/xml/reader.h"

namespace sluice {

bool weak_key_matches(const User& user, const std::string& key) {
    return key == std::to_string(user.id) + "_" + md5_hex(user.authenticator + user.passwd_hash);
}

std::optional<Account> account_of_key(AccountStore& accounts, const std::string& key) {
    if (key.empty()) return std::nullopt;
    const std::size_t mark = key.find('_');
    if (mark == std::string::npos) return accounts.account_by_key(key);
    const auto userid = parse_int(std::string_view(key).substr(0, mark));
    if (!userid || *userid <= 0) return std::nullopt;
    auto account = accounts.account_by_id(*userid);
    if (!account || !weak_key_matches(account->user, key)) return std::nullopt;
    return account;
}

bool account_is_known(AccountStore& accounts, std::string_view beginning) {
    constexpr std::size_t kLongestKey = 254;
    const auto key = find_element(beginning, "authenticator");
    return key && key->size() <= kLongestKey && account_of_key(accounts, std::string(*key)).has_value();
}

}  // namespace sluice
