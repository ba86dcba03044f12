// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/cgi/start_turn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "sluice/base/log.h"
#include "sluice/base/users.h"

namespace sluice {
namespace {

constexpr int kTries = 30;
constexpr useconds_t kBetweenTries = 100'000;

/// "process 123 of www-data". Some file systems give /proc/locks another device than stat(): then nobody is found.
std::string flock_holder(const struct stat& file) {
    const std::string wanted =
        fmt::format("{:02x}:{:02x}:{}", gnu_dev_major(file.st_dev), gnu_dev_minor(file.st_dev), file.st_ino);
    std::ifstream locks("/proc/locks");
    std::string number, kind, advisory, access, pid, inode, first, last;
    while (locks >> number >> kind) {
        if (kind == "->") locks >> kind;  // it waits for the one above
        locks >> advisory >> access >> pid >> inode >> first >> last;
        struct stat process {};
        if (kind != "FLOCK" || inode != wanted) continue;
        const bool known = ::stat(("/proc/" + pid).c_str(), &process) == 0;
        return "process " + pid + (known ? " of " + user_name(process.st_uid) : "");
    }
    return "another process";
}

}  // namespace

OwnedFd take_start_turn(const std::filesystem::path& folder) {
    OwnedFd turn(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; turn.get() >= 0 && ::flock(turn.get(), LOCK_EX | LOCK_NB) != 0; ++i) {
        if (errno != EWOULDBLOCK && errno != EINTR) break;  // NFS may have no locks
        if (i == kTries) {
            struct stat info {};
            std::error_code unknown;
            ::fstat(turn.get(), &info);
            log_warning("{} has locked {} (flock) for {} s: the start goes on without the lock", flock_holder(info),
                        std::filesystem::canonical(folder, unknown).string(), kTries * kBetweenTries / 1'000'000);
            break;
        }
        ::usleep(kBetweenTries);
    }
    return turn;
}

}  // namespace sluice
