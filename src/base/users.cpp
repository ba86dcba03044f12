#include "sluice/base/users.h"

#include <grp.h>
#include <pwd.h>

namespace sluice {

std::optional<SystemUser> find_user(const std::string& name) {
    const passwd* entry = name.empty() ? nullptr : ::getpwnam(name.c_str());
    if (entry == nullptr) return std::nullopt;
    return SystemUser{name, entry->pw_uid, entry->pw_gid};
}

std::string user_name(uid_t uid) {
    const passwd* entry = ::getpwuid(uid);
    return entry == nullptr ? std::to_string(uid) : entry->pw_name;
}

std::string group_name(gid_t gid) {
    const group* entry = ::getgrgid(gid);
    return entry == nullptr ? std::to_string(gid) : entry->gr_name;
}

}  // namespace sluice
