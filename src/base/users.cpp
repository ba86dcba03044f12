// SPDX-License-Identifier: LGPL-3.0-or-later
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

std::string first_group(const std::string& user, gid_t otherwise) {
    const auto known = find_user(user);
    return group_name(known ? known->gid : otherwise);
}

std::vector<gid_t> groups_of(const SystemUser& user) {
    std::vector<gid_t> groups(64);
    int n = static_cast<int>(groups.size());
    if (::getgrouplist(user.name.c_str(), user.gid, groups.data(), &n) < 0) {
        groups.resize(static_cast<std::size_t>(n));
        ::getgrouplist(user.name.c_str(), user.gid, groups.data(), &n);
    }
    groups.resize(static_cast<std::size_t>(n));
    return groups;
}

const std::vector<std::string>& usual_web_users() {
    static const std::vector<std::string> names{"www-data", "apache", "httpd", "http", "wwwrun", "nginx"};
    return names;
}

}  // namespace sluice
