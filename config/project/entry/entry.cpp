// SPDX-License-Identifier: LGPL-3.0-or-later
// What stands in PROJECT/bin and PROJECT/cgi-bin under a program's name: it becomes the installed program of that name,
// PROJECT/sluice/bin/NAME or PROJECT/sluice/cgi-bin/NAME (of fcgi: cgi). A link would do the same. But BOINC's
// tools/upgrade copies files over links, and so would write into the installation and every project.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "config/run/entry_mark.h"

namespace {

constexpr int kLongestPath = 4096;

/// PROJECT/sluice/FOLDER/NAME for PROJECT/FOLDER/NAME; false: there is no room.
bool installed(char* self, char* path) {
    char* const name = std::strrchr(self, '/');
    if (name == nullptr || name == self) return false;
    *name = '\0';
    char* const folder = std::strrchr(self, '/');
    if (folder == nullptr) return false;
    *folder = '\0';
    return std::snprintf(path, kLongestPath, "%s/sluice/%s/%s", self, folder + 1, sluice::installed_name(name + 1)) <
           kLongestPath;
}

/// A link that leads back to the project would have it become itself for ever.
bool is_this_program(const char* path) {
    struct stat own {
    }, other{};
    return ::stat("/proc/self/exe", &own) == 0 && ::stat(path, &other) == 0 && own.st_dev == other.st_dev &&
           own.st_ino == other.st_ino;
}

}  // namespace

int main(int /*argc*/, char** argv) {
    char self[kLongestPath] = {}, path[kLongestPath] = {};
    const char* const volatile mark = sluice::kEntryMark;  // stays in the program's file
    const ssize_t n = ::readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0 || mark == nullptr || !installed(self, path)) {
        std::fputs("Can't tell which program is meant: is /proc mounted?\n", stderr);
        return 127;
    }
    if (is_this_program(path))
        errno = ELOOP;
    else
        ::execv(path, argv);
    std::fprintf(stderr,
                 "Can't run %s: %s. Is Sluice still installed where the link 'sluice' in the project's folder leads?\n",
                 path, std::strerror(errno));
    return 127;
}
