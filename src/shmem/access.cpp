#include "src/shmem/access.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace sluice::shm {
namespace {

struct Account {
    std::string name;
    uid_t uid;
    gid_t gid;
};

std::vector<Account> others_among(const std::vector<std::string>& users) {
    std::vector<Account> found;
    for (const auto& name : users) {
        std::array<char, 16384> buffer;
        passwd entry{};
        passwd* result = nullptr;
        if (::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &result) != 0 || result == nullptr)
            continue;
        const bool has_access_anyway = entry.pw_uid == ::geteuid() || entry.pw_uid == 0;
        const bool known =
            std::any_of(found.begin(), found.end(), [&](const Account& a) { return a.uid == entry.pw_uid; });
        if (!has_access_anyway && !known) found.push_back({name, entry.pw_uid, entry.pw_gid});
    }
    return found;
}

/// The kernel's own format of a POSIX access control list (tmpfs keeps them as an extended attribute).
bool set_acl(int fd, int mode, std::vector<Account> accounts) {
    constexpr std::uint16_t kUserObj = 1, kUser = 2, kGroupObj = 4, kMask = 0x10, kOther = 0x20, kReadWrite = 6;
    constexpr std::uint32_t kVersion = 2, kNoId = 0xffffffff;
    struct Entry {
        std::uint16_t tag, permissions;
        std::uint32_t id;
    };
    std::sort(accounts.begin(), accounts.end(), [](const Account& a, const Account& b) { return a.uid < b.uid; });
    std::vector<Entry> entries{{kUserObj, kReadWrite, kNoId}};
    for (const auto& a : accounts) entries.push_back({kUser, kReadWrite, a.uid});
    entries.push_back({kGroupObj, static_cast<std::uint16_t>(mode >> 3 & 6), kNoId});
    entries.push_back({kMask, kReadWrite, kNoId});
    entries.push_back({kOther, static_cast<std::uint16_t>(mode & 6), kNoId});
    std::string value(reinterpret_cast<const char*>(&kVersion), sizeof kVersion);
    value.append(reinterpret_cast<const char*>(entries.data()), entries.size() * sizeof(Entry));
    return ::fsetxattr(fd, "system.posix_acl_access", value.data(), value.size(), 0) == 0;
}

bool is_in_group(const Account& account, gid_t group) {
    std::array<gid_t, 256> groups;
    int n = static_cast<int>(groups.size());
    if (::getgrouplist(account.name.c_str(), account.gid, groups.data(), &n) < 0) return false;
    return std::find(groups.begin(), groups.begin() + n, group) != groups.begin() + n;
}

/// One group that holds all accounts and that this process may give the segment to.
bool share_by_group(int fd, const std::vector<Account>& accounts) {
    const auto all_in = [&](gid_t group) {
        return std::all_of(accounts.begin(), accounts.end(), [&](const Account& a) { return is_in_group(a, group); });
    };
    for (const gid_t group : {::getegid(), accounts.front().gid}) {
        if (all_in(group) && ::fchown(fd, static_cast<uid_t>(-1), group) == 0 && ::fchmod(fd, 0660) == 0) return true;
    }
    return false;
}

}  // namespace

Access grant_access(int fd, int mode, const std::vector<std::string>& users) {
    ::fchmod(fd, static_cast<mode_t>(mode));
    const auto accounts = others_among(users);
    if (accounts.empty()) return Access::kOwnerOnly;
    if (set_acl(fd, mode, accounts)) return Access::kAcl;
    if (share_by_group(fd, accounts)) return Access::kGroup;
    ::fchmod(fd, 0666);
    return Access::kEverybody;
}

}  // namespace sluice::shm
