// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/project/add_rows.h"

#include <crypt.h>
#include <fmt/format.h>

#include <algorithm>
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

namespace {

/// What project.xml says otherwise than the row: the row as it should be. A name that is not given is the short one.
bool take_name(std::string& existing, const std::string& wanted, const std::string& short_name) {
    if (wanted == existing || wanted == short_name) return false;
    existing = wanted;
    return true;
}
bool take_changes(Platform& existing, const Platform& wanted) {
    return take_name(existing.user_friendly_name, wanted.user_friendly_name, wanted.name);
}
bool take_changes(App& existing, const App& wanted) {
    const bool renamed = take_name(existing.user_friendly_name, wanted.user_friendly_name, wanted.name);
    const bool other_version = wanted.min_version != 0 && wanted.min_version != existing.min_version;
    if (other_version) existing.min_version = wanted.min_version;
    return renamed || other_version;
}

/// The rows to change.
template <typename Row, typename Add>
std::vector<Row> add_missing(const char* kind, const std::vector<Row>& wanted, std::vector<Row> existing,
                             OfExisting of_existing, const Add& add, ChangedRows& result) {
    std::vector<Row> changed;
    for (const Row& row : wanted) {
        const auto same = std::ranges::find(existing, row.name, &Row::name);
        if (same == existing.end()) {
            result.lines.push_back(
                fmt::format("Added {} {} '{}' (id {})", kind, row.name, row.user_friendly_name, add(row)));
            existing.push_back(row);
            ++result.changed;
        } else if (of_existing == OfExisting::kUpdate && take_changes(*same, row)) {
            result.lines.push_back(fmt::format("Updated {} {} '{}'", kind, row.name, same->user_friendly_name));
            changed.push_back(*same);
            ++result.changed;
        } else {
            const char* changes_it = std::is_same_v<Row, App> ? "; bin/app_settings shows and changes it" : "";
            result.lines.push_back(fmt::format("Skipped {} {}: it exists{}", kind, row.name, changes_it));
        }
    }
    return changed;
}

}  // namespace

ChangedRows add_rows(ProjectSetupStore& store, const ProjectXml& wanted, std::int64_t now, OfExisting existing) {
    ChangedRows result;
    const auto platforms = add_missing(
        "platform", wanted.platforms, store.platforms(), existing,
        [&](const Platform& row) { return store.add_platform(row, now); }, result);
    const auto apps = add_missing(
        "app", wanted.apps, store.apps(), existing, [&](const App& row) { return store.add_app(row, now); }, result);
    store.update(platforms, apps);
    return result;
}

}  // namespace sluice
