// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/run/process_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/hash.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"

namespace sluice {
namespace fs = std::filesystem;
namespace {

/// Who may read a file can lock it for reading, and so keep daemons from starting: the project's account alone.
constexpr mode_t kLockMode = 0600;

/// `length` 0: up to the end, however large the file gets.
struct flock bytes(short type, std::int64_t start, std::int64_t length) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = start;
    lock.l_len = length;
    return lock;
}
struct flock whole_file(short type) {
    return bytes(type, 0, 0);
}

[[noreturn]] void fail_on(const char* what, const fs::path& file) {
    throw FileError(std::string(what) + " " + file.string() + ": " + file_problem(errno, file));
}

/// Upstream's script unlinks its own lock file when it ends: a lock on a file that is gone keeps nobody out.
bool is_still_there(int fd, const fs::path& file) {
    struct stat held {
    }, there{};
    return ::fstat(fd, &held) == 0 && ::stat(file.c_str(), &there) == 0 && held.st_ino == there.st_ino &&
           held.st_dev == there.st_dev;
}

/// root may stop a project: what that leaves behind must not keep the project's user out.
void give_to_owner_of_folder(int fd, const fs::path& file) {
    struct stat folder {};
    if (::geteuid() != 0 || ::stat(file.parent_path().c_str(), &folder) != 0) return;
    // Where it does not work root has to go on: start says whose the file is.
    [[maybe_unused]] const int result = ::fchown(fd, folder.st_uid, static_cast<gid_t>(-1));
}

}  // namespace

/// Whoever may make files beside it could put a FIFO there, in which an open() waits for ever.
static OwnedFd open_to_ask(const fs::path& file) {
    return OwnedFd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

/// F_UNLCK also if there is no such file.
static struct flock ask_for_lock(const fs::path& file) {
    struct flock lock = whole_file(F_WRLCK);
    const OwnedFd fd = open_to_ask(file);
    if (fd.get() < 0) {
        if (errno != ENOENT) fail_on("Can't read the lock file", file);
        lock.l_type = F_UNLCK;
        return lock;
    }
    if (::fcntl(fd.get(), F_GETLK, &lock) != 0) fail_on("Can't ask for the holder of the lock file", file);
    return lock;
}

std::optional<pid_t> lock_holder(const fs::path& file) {
    const struct flock lock = ask_for_lock(file);
    if (lock.l_type == F_UNLCK || lock.l_pid <= 0) return std::nullopt;
    return lock.l_pid;
}

bool is_locked(const fs::path& file) { return ask_for_lock(file).l_type != F_UNLCK; }

static int take_inheritable(const char* file, struct flock lock) {
    int fd = open_own_file(file, O_RDWR | O_CREAT, kLockMode);
    if (fd < 0) return -1;
    ::fchmod(fd, kLockMode);    // older versions made it readable for all
    if (fd <= STDERR_FILENO) {  // start was itself run without stdin, stdout or stderr
        const int higher = ::fcntl(fd, F_DUPFD, STDERR_FILENO + 1);
        ::close(fd);
        if (higher < 0) return -1;
        fd = higher;
    }
    if (::fcntl(fd, F_SETLK, &lock) == 0) return fd;
    const int error = errno == EACCES ? EAGAIN : errno;  // both mean: held
    ::close(fd);
    errno = error;
    return -1;
}

int take_inheritable_lock(const char* file) { return take_inheritable(file, whole_file(F_WRLCK)); }
int take_inheritable_place(const char* file, GuardPlace place) {
    return take_inheritable(file, bytes(F_WRLCK, place, 1));
}

constexpr GuardPlace kFirstTask = GuardPlace{1} << 60;

GuardPlace guard_place(const std::string& lock_name, bool is_task) {
    const std::string hash = md5_hex(lock_name).substr(0, 15);  // 60 bits
    return static_cast<GuardPlace>(std::stoull(hash, nullptr, 16)) + (is_task ? kFirstTask : 0);
}
bool is_daemons_place(GuardPlace place) { return place < kFirstTask; }

static void add_holders(int fd, std::map<GuardPlace, pid_t>& holders) {
    // An answer is any lock of the range that was asked about: what lies before and behind it is asked about next.
    std::vector<std::pair<GuardPlace, GuardPlace>> unasked{{0, 2 * kFirstTask}};
    while (!unasked.empty()) {
        const auto [from, end] = unasked.back();
        unasked.pop_back();
        struct flock lock = bytes(F_WRLCK, from, end - from);
        if (from >= end || ::fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) continue;
        if (lock.l_pid > 0) holders[lock.l_start] = lock.l_pid;
        if (lock.l_start > from) unasked.emplace_back(from, lock.l_start);
        if (lock.l_len > 0) unasked.emplace_back(lock.l_start + lock.l_len, end);
    }
}

/// The links of /proc/PID/fd to files that had this name and were deleted, one for each such file. Of other users'
/// processes only root sees them.
static std::vector<OwnedFd> deleted_and_open(const fs::path& file) {
    std::error_code ignored;
    const std::string wanted = fs::weakly_canonical(file, ignored).string() + " (deleted)";
    std::set<std::pair<dev_t, ino_t>> known;
    std::vector<OwnedFd> found;
    for (fs::directory_iterator process("/proc", ignored), end; process != end; process.increment(ignored)) {
        if (!parse_int(process->path().filename().string())) continue;
        std::error_code gone;
        for (fs::directory_iterator link(process->path() / "fd", gone), last; !gone && link != last;
             link.increment(gone)) {
            std::error_code closed;
            if (fs::read_symlink(link->path(), closed) != wanted) continue;
            OwnedFd fd = open_to_ask(link->path());
            struct stat info {};
            // Meanwhile the link may lead to another file.
            if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink != 0) continue;
            if (known.emplace(info.st_dev, info.st_ino).second) found.push_back(std::move(fd));
        }
    }
    return found;
}

std::map<GuardPlace, pid_t> guard_holders(const fs::path& file) {
    std::map<GuardPlace, pid_t> holders;
    for (const OwnedFd& fd : deleted_and_open(file)) add_holders(fd.get(), holders);
    const OwnedFd fd = open_to_ask(file);
    if (fd.get() >= 0)
        add_holders(fd.get(), holders);
    else if (errno != ENOENT)
        fail_on("Can't read the lock file", file);
    return holders;
}

std::optional<RunLock> RunLock::try_take(const fs::path& file) {
    while (true) {
        const int fd = open_own_file(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kLockMode);
        if (fd < 0) fail_on("Can't open the lock file", file);
        RunLock taken(fd);
        ::fchmod(fd, kLockMode);
        give_to_owner_of_folder(fd, file);
        struct flock lock = whole_file(F_WRLCK);
        if (::fcntl(fd, F_SETLK, &lock) != 0) {
            if (errno == EACCES || errno == EAGAIN) return std::nullopt;
            fail_on("Can't lock", file);
        }
        if (is_still_there(fd, file)) return taken;
    }
}

std::optional<ProcessHandle> ProcessHandle::open(pid_t pid) {
    const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (fd >= 0) return ProcessHandle(pid, fd);
    if (errno == ESRCH || errno == EINVAL) return std::nullopt;
    throw Error("Can't open a handle on process " + std::to_string(pid) + ": " + std::strerror(errno) +
                " (Linux 5.3 or later is needed)");
}

int ProcessHandle::send(int signal) const {
    return ::syscall(SYS_pidfd_send_signal, fd_.get(), signal, nullptr, 0) == 0 ? 0 : errno;
}

bool ProcessHandle::ended() const {
    pollfd state{fd_.get(), POLLIN, 0};
    return ::poll(&state, 1, 0) > 0;
}

}  // namespace sluice
