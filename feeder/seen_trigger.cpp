// SPDX-License-Identifier: LGPL-3.0-or-later
#include "feeder/seen_trigger.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace sluice {
namespace {

bool same_time(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

}  // namespace

std::optional<SeenTrigger> SeenTrigger::look(const std::filesystem::path& file) {
    struct stat seen {};
    if (::lstat(file.c_str(), &seen) != 0) return std::nullopt;
    timespec times[2] = {{0, UTIME_OMIT}, seen.st_mtim};
    --times[1].tv_sec;
    const bool marked = ::utimensat(AT_FDCWD, file.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0;
    if (marked && ::lstat(file.c_str(), &seen) != 0) return std::nullopt;
    return SeenTrigger(file, seen);
}

int SeenTrigger::remove_if_unchanged() const {
    struct stat now {};
    if (::lstat(file_.c_str(), &now) != 0) return errno == ENOENT ? 0 : errno;
    if (now.st_dev != seen_.st_dev || now.st_ino != seen_.st_ino || !same_time(now.st_mtim, seen_.st_mtim)) return 0;
    return ::unlink(file_.c_str()) == 0 || errno == ENOENT ? 0 : errno;
}

}  // namespace sluice
