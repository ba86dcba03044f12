// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/privileges.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "sluice/base/error.h"
#include "sluice/base/shell_text.h"
#include "sluice/base/users.h"

namespace sluice {
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
