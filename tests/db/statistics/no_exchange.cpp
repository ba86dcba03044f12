// SPDX-License-Identifier: LGPL-3.0-or-later
// Preloaded into db_dump: a file system that can't exchange folders. If SLUICE_TEST_KILL_AT says so, the program is
// killed before that rename, from 1, of a folder whose name begins with stats.
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool is_of_a_folder(const char* path) {
    const char* slash = std::strrchr(path, '/');
    return std::strncmp(slash != nullptr ? slash + 1 : path, "stats", 5) == 0;
}

}  // namespace

extern "C" int renameat2(int from, const char* old_name, int to, const char* new_name, unsigned flags) {
    if (flags != 0) {
        errno = EINVAL;
        return -1;
    }
    return ::renameat(from, old_name, to, new_name);
}

extern "C" int rename(const char* old_name, const char* new_name) {
    static std::atomic<int> renames{0};
    const char* at = std::getenv("SLUICE_TEST_KILL_AT");
    if (at != nullptr && is_of_a_folder(old_name) && ++renames == std::atoi(at)) ::kill(::getpid(), SIGKILL);
    return ::renameat(-100, old_name, -100, new_name);
}
