// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Users of this machine.
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace sluice {

struct SystemUser {
    std::string name;
    uid_t uid = 0;
    gid_t gid = 0;  ///< its first group
};
/// nullopt: nobody is called so.
std::optional<SystemUser> find_user(const std::string& name);
/// The number, if it has no name.
std::string user_name(uid_t uid);
std::string group_name(gid_t gid);
/// That user's first group; `otherwise` of a user without a name.
std::string first_group(const std::string& user, gid_t otherwise);
/// The groups that a process of that user's is in, the first one included.
std::vector<gid_t> groups_of(const SystemUser& user);
/// What the web server's account is usually called.
const std::vector<std::string>& usual_web_users();

}  // namespace sluice
