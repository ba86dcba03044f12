// SPDX-License-Identifier: LGPL-3.0-or-later
#include "src/shmem/access.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/users.h"

namespace sluice::shm {
namespace {

std::vector<SystemUser> others_among(const std::vector<std::string>& users) {
    std::vector<SystemUser> found;
    for (const auto& name : users) {
        const auto account = find_user(name);
        if (!account || account->uid == ::geteuid() || account->uid == 0) continue;  // has access anyway
        if (std::ranges::find(found, account->uid, &SystemUser::uid) == found.end()) found.push_back(*account);
    }
    return found;
}

constexpr std::uint16_t kRead = 4, kReadWrite = 6;

/// The kernel's own format of a POSIX access control list (tmpfs keeps them as an extended attribute). The group that
/// the feeder runs under has the same rights as the accounts.
bool set_acl(int fd, std::uint16_t rights, std::vector<SystemUser> accounts) {
    constexpr std::uint16_t kUserObj = 1, kUser = 2, kGroupObj = 4, kMask = 0x10, kOther = 0x20;
    constexpr std::uint32_t kVersion = 2, kNoId = 0xffffffff;
    struct Entry {
        std::uint16_t tag, permissions;
        std::uint32_t id;
    };
    std::sort(accounts.begin(), accounts.end(), [](const SystemUser& a, const SystemUser& b) { return a.uid < b.uid; });
    std::vector<Entry> entries{{kUserObj, kReadWrite, kNoId}};
    for (const auto& a : accounts) entries.push_back({kUser, rights, a.uid});
    entries.push_back({kGroupObj, rights, kNoId});
    entries.push_back({kMask, rights, kNoId});
    entries.push_back({kOther, 0, kNoId});
    std::string value(reinterpret_cast<const char*>(&kVersion), sizeof kVersion);
    value.append(reinterpret_cast<const char*>(entries.data()), entries.size() * sizeof(Entry));
    return ::fsetxattr(fd, "system.posix_acl_access", value.data(), value.size(), 0) == 0;
}

bool is_in_group(const SystemUser& account, gid_t group) {
    std::array<gid_t, 256> groups;
    int n = static_cast<int>(groups.size());
    if (::getgrouplist(account.name.c_str(), account.gid, groups.data(), &n) < 0) return false;
    return std::find(groups.begin(), groups.begin() + n, group) != groups.begin() + n;
}

/// One group that holds all accounts and that this process may give the files to.
bool share_by_group(int content_fd, int claims_fd, const std::vector<SystemUser>& accounts) {
    const auto all_in = [&](gid_t group) {
        return std::all_of(accounts.begin(), accounts.end(),
                           [&](const SystemUser& a) { return is_in_group(a, group); });
    };
    const auto give = [](int fd, gid_t group) { return ::fchown(fd, static_cast<uid_t>(-1), group) == 0; };
    for (const gid_t group : {::getegid(), accounts.front().gid}) {
        if (all_in(group) && give(content_fd, group) && give(claims_fd, group)) return true;
    }
    return false;
}

}  // namespace

Access grant_access(int content_fd, int claims_fd, const std::vector<std::string>& users) {
    ::fchmod(content_fd, 0640);
    ::fchmod(claims_fd, 0660);
    const auto accounts = others_among(users);
    if (accounts.empty()) return Access::kOwnerOnly;
    if (set_acl(content_fd, kRead, accounts) && set_acl(claims_fd, kReadWrite, accounts)) return Access::kAcl;
    if (share_by_group(content_fd, claims_fd, accounts)) return Access::kGroup;
    ::fchmod(content_fd, 0644);
    ::fchmod(claims_fd, 0666);
    return Access::kEverybody;
}

void write_publication(const std::filesystem::path& path, const std::string& segment) {
    try {
        write_file_atomically(path, segment + "\n", 0644);
    } catch (const FileError& e) {
        throw ShmemError(fmt::format("{}; the feeder's account, {}, must be able to write in the project's folder",
                                     e.what(), user_name(::geteuid())));
    }
}

std::optional<Publication> read_publication(const std::filesystem::path& path, const std::string& prefix) {
    // A link or a pipe in its place was not put there by a feeder.
    const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
    if (fd < 0) {
        throw ShmemError(fmt::format("Can't read {}, which names the job array: {}; this process runs as {}",
                                     path.string(), std::strerror(errno), user_name(::geteuid())));
    }
    std::array<char, 128> text;
    struct stat file {
    }, folder{};
    const bool known = ::fstat(fd, &file) == 0 && ::stat(path.parent_path().c_str(), &folder) == 0;
    const ssize_t n = known && S_ISREG(file.st_mode) ? ::read(fd, text.data(), text.size()) : -1;
    ::close(fd);
    if (n < 0) throw ShmemError(fmt::format("{} is no file; remove it and restart the feeder", path.string()));
    if ((file.st_uid != 0 && file.st_uid != ::geteuid() && file.st_uid != folder.st_uid) || (file.st_mode & 022) != 0) {
        throw ShmemError(fmt::format(
            "{}, which names the job array, was written by {} (mode {:o}) and the project belongs to {}: it is not "
            "believed; run the feeder as the account that owns the project's folder",
            path.string(), user_name(file.st_uid), file.st_mode & 0777u, user_name(folder.st_uid)));
    }
    std::string name(text.data(), static_cast<std::size_t>(n));
    if (!name.empty() && name.back() == '\n') name.pop_back();
    const bool plain = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") == std::string::npos;
    if (!plain || !name.starts_with(prefix)) return std::nullopt;
    return Publication{std::move(name), file.st_uid};
}

void check_file(int fd, const std::string& path, uid_t owner, bool others_write) {
    struct stat info {};
    if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        throw ShmemError(fmt::format("{} is no job array; remove it and restart the feeder", path));
    if (info.st_uid == owner && (others_write || (info.st_mode & 022) == 0)) return;
    throw ShmemError(
        fmt::format("The job array {} belongs to {} (mode {:o}) and the project's feeder runs as {}: it is "
                    "not believed; remove it and restart the feeder",
                    path, user_name(info.st_uid), info.st_mode & 0777u, user_name(owner)));
}

}  // namespace sluice::shm
