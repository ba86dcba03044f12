#include "config/run/process_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "sluice/base/error.h"
#include "sluice/base/file_problem.h"

namespace sluice {
namespace fs = std::filesystem;
namespace {

struct flock whole_file(short type) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return lock;
}

[[noreturn]] void fail(const char* what, const fs::path& file) {
    throw FileError(std::string(what) + " " + file.string() + ": " + file_problem(errno, file));
}

/// Upstream's script unlinks its own lock file when it ends: a lock on a file that is gone keeps nobody out.
bool is_still_there(int fd, const fs::path& file) {
    struct stat held {
    }, there{};
    return ::fstat(fd, &held) == 0 && ::stat(file.c_str(), &there) == 0 && held.st_ino == there.st_ino &&
           held.st_dev == there.st_dev;
}

}  // namespace

std::optional<pid_t> lock_holder(const fs::path& file) {
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        if (errno == ENOENT) return std::nullopt;
        fail("Can't read the lock file", file);
    }
    struct flock lock = whole_file(F_WRLCK);
    const int result = ::fcntl(fd, F_GETLK, &lock);
    ::close(fd);
    if (result != 0) fail("Can't ask for the holder of the lock file", file);
    if (lock.l_type == F_UNLCK || lock.l_pid <= 0) return std::nullopt;
    return lock.l_pid;
}

int take_inheritable_lock(const char* file) {
    int fd = ::open(file, O_RDWR | O_CREAT, 0664);
    if (fd < 0) return -1;
    if (fd <= STDERR_FILENO) {  // start was itself run without stdin, stdout or stderr
        const int higher = ::fcntl(fd, F_DUPFD, STDERR_FILENO + 1);
        ::close(fd);
        if (higher < 0) return -1;
        fd = higher;
    }
    struct flock lock = whole_file(F_WRLCK);
    if (::fcntl(fd, F_SETLK, &lock) == 0) return fd;
    const int error = errno == EACCES ? EAGAIN : errno;  // both mean: held
    ::close(fd);
    errno = error;
    return -1;
}

std::optional<RunLock> RunLock::try_take(const fs::path& file) {
    while (true) {
        const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0664);
        if (fd < 0) fail("Can't open the lock file", file);
        RunLock taken(fd);
        struct flock lock = whole_file(F_WRLCK);
        if (::fcntl(fd, F_SETLK, &lock) != 0) {
            if (errno == EACCES || errno == EAGAIN) return std::nullopt;
            fail("Can't lock", file);
        }
        if (is_still_there(fd, file)) return taken;
    }
}

RunLock::RunLock(RunLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
RunLock::~RunLock() {
    if (fd_ >= 0) ::close(fd_);
}

std::optional<ProcessHandle> ProcessHandle::open(pid_t pid) {
    const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (fd >= 0) return ProcessHandle(pid, fd);
    if (errno == ESRCH || errno == EINVAL) return std::nullopt;
    throw Error("Can't open a handle on process " + std::to_string(pid) + ": " + std::strerror(errno) +
                " (Linux 5.3 or later is needed)");
}

ProcessHandle::ProcessHandle(ProcessHandle&& other) noexcept : pid_(other.pid_), fd_(std::exchange(other.fd_, -1)) {}
ProcessHandle& ProcessHandle::operator=(ProcessHandle&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(fd_, other.fd_);
    return *this;
}
ProcessHandle::~ProcessHandle() {
    if (fd_ >= 0) ::close(fd_);
}

int ProcessHandle::send(int signal) const {
    return ::syscall(SYS_pidfd_send_signal, fd_, signal, nullptr, 0) == 0 ? 0 : errno;
}

bool ProcessHandle::ended() const {
    pollfd state{fd_, POLLIN, 0};
    return ::poll(&state, 1, 0) > 0;
}

}  // namespace sluice
