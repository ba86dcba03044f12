// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/users.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "sluice/base/error.h"
#include "sluice/base/text.h"

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

namespace {

/// 0: it is ours to write.
int problem_of(int fd) {
    struct stat info {};
    if (::fstat(fd, &info) != 0) return errno;
    if (!S_ISREG(info.st_mode)) return EINVAL;
    if (info.st_nlink > 1) return EMLINK;
    const bool ours = ::geteuid() == 0 || info.st_uid == ::geteuid() || info.st_uid == 0;
    return ours ? 0 : EPERM;
}

}  // namespace

void refuse_root(const std::string& command, const std::filesystem::path& project) {
    const char* allowed = std::getenv("SLUICE_ALLOW_ROOT");
    if (::geteuid() != 0 || (allowed != nullptr && std::string_view(allowed) == "1")) return;
    struct stat info {};
    const bool known = ::stat(project.c_str(), &info) == 0;
    const bool has_user = known && info.st_uid != 0;
    const std::string user = has_user ? user_name(info.st_uid) : "USER";
    std::string text = command + " does not run as root; as the project's user: sudo -u " + user + " " + command;
    if (!has_user)
        text += " (" + project.string() + " belongs to root: sluice_options --check " + shell_quoted(project.string()) +
                " prints the commands that give it to a user of its own)";
    throw Error(text + "; SLUICE_ALLOW_ROOT=1 in the environment permits root");
}

void refuse_root_in_project_of_another(const std::string& command, const std::filesystem::path& project) {
    struct stat info {};
    if (::stat(project.c_str(), &info) == 0 && info.st_uid != 0) refuse_root(command, project);
}

int open_own_file(const char* path, int flags, mode_t mode) {
    // Not blocked by a pipe that somebody put there.
    const int fd = ::open(path, (flags & ~O_TRUNC) | O_NOFOLLOW | O_NONBLOCK, mode);
    if (fd < 0) return -1;
    int problem = problem_of(fd);
    if (problem == 0 && (flags & O_TRUNC) != 0 && ::ftruncate(fd, 0) != 0) problem = errno;
    if (problem == 0) return fd;
    ::close(fd);
    errno = problem;
    return -1;
}

}  // namespace sluice
