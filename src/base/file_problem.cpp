// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/file_problem.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "sluice/base/users.h"

namespace sluice {
std::string file_problem(int error, const std::filesystem::path& path) {
    const std::string words = std::strerror(error);
    if (error == ELOOP) return "it is a symbolic link, which is not followed here: remove it";
    if (error == EMLINK) return "it has a second name (a hard link), which could be any file: remove it";
    if (error != EACCES && error != EPERM) return words;
    // A file that is to be made, or that lies behind a closed folder: the nearest folder that can be seen.
    std::filesystem::path seen = std::filesystem::absolute(path);
    struct stat info {};
    while (::stat(seen.c_str(), &info) != 0) {
        if (!seen.has_relative_path()) return words;
        seen = seen.parent_path();
    }
    char mode[8];
    std::snprintf(mode, sizeof mode, "%o", static_cast<unsigned>(info.st_mode & 07777));
    return words + " for user " + user_name(::geteuid()) + " (" + seen.string() + " belongs to " +
           user_name(info.st_uid) + ":" + group_name(info.st_gid) + ", mode " + mode +
           "); run as that user, or give this one access";
}

}  // namespace sluice
