#pragma once
// Users of this machine.
#include <sys/types.h>

#include <optional>
#include <string>

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

}  // namespace sluice
