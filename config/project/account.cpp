// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/project/account.h"

#include <crypt.h>

#include <memory>

#include "sluice/base/error.h"
#include "sluice/base/hash.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

bool has_control_characters(const std::string& text) {
    return text.find_first_of(std::string("\0\n\r\t<>", 6)) != std::string::npos;
}

}  // namespace

std::string stored_password(const std::string& email, const std::string& password) {
    const std::string hash = md5_hex(password + to_lower_ascii(email));
    // PHP's password_verify() wants the prefix $2y$ and its default cost.
    const auto data = std::make_unique<crypt_data>();
    char setting[CRYPT_GENSALT_OUTPUT_SIZE] = {};
    const char* stored = nullptr;
    if (crypt_gensalt_rn("$2y$", 10, nullptr, 0, setting, sizeof setting) != nullptr) {
        stored = crypt_r(hash.c_str(), setting, data.get());
    }
    if (stored == nullptr || stored[0] == '*')
        throw Error("The system's crypt library has no bcrypt: can't store a password");
    return stored;
}

User new_account(const std::string& email, const std::string& name, const std::string& password, std::int64_t now) {
    const std::size_t at = email.find('@');
    const bool address = at != std::string::npos && at > 0 && at + 1 < email.size() && email.size() <= 191 &&
                         email.find_first_of(" \"'") == std::string::npos && !has_control_characters(email);
    if (!address) throw ConfigError("'" + email + "' is not an e-mail address");
    if (name.empty() || name.size() > 191 || has_control_characters(name) || trim(name) != name) {
        throw ConfigError("'" + name + "' can't be a user's name: 1 to 191 bytes without <, > and control characters");
    }
    User user;
    user.create_time = now;
    user.email_addr = email;
    user.name = name;
    user.authenticator = random_hex(16);
    user.cross_project_id = random_hex(16);
    user.passwd_hash = stored_password(email, password.empty() ? random_hex(16) : password);
    return user;
}

}  // namespace sluice
