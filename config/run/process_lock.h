// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The lock files of daemons and tasks: POSIX record locks (fcntl), as upstream's script takes them. The kernel knows
// the holder's pid and drops the lock when it dies. So a held lock proves that a pid is the daemon's, not a later
// process with the same number.
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>

#include "sluice/base/files.h"

namespace sluice {

/// The process that holds the lock; nullopt: nobody, or no such file. Throws FileError if the file can't be
/// read.
std::optional<pid_t> lock_holder(const std::filesystem::path& file);
/// Whether anybody holds it, also one of whom the kernel tells no pid (FileLock). Throws FileError as lock_holder().
bool is_locked(const std::filesystem::path& file);

/// Opens and locks for this process; the descriptor survives exec, and so does the lock. -1: held by
/// another (errno EAGAIN), or errno says why not.
int take_inheritable_lock(const char* file);

/// A place in the guard: a file of the project's folder in which every daemon and task holds one byte, besides its lock
/// file. pid_HOST can be deleted while they run; then the guard still says that they do.
using GuardPlace = std::int64_t;
/// Made from the name of the program's lock file as config.xml gives it. No two programs share one, and it does not
/// depend on where the project or pid_HOST lies. Daemons and tasks have halves of their own.
GuardPlace guard_place(const std::string& lock_name, bool is_task);
bool is_daemons_place(GuardPlace place);
/// As take_inheritable_lock(), of that byte of `file`.
int take_inheritable_place(const char* file, GuardPlace place);
/// Who holds which place, also of a guard that was deleted: its holders have it open, and the kernel knows its name.
/// Empty if there is no such file. Throws FileError.
std::map<GuardPlace, pid_t> guard_holders(const std::filesystem::path& file);

/// The lock of start, stop and cron themselves, for the life of the object.
class RunLock {
  public:
    /// nullopt: another one is running. Throws FileError.
    static std::optional<RunLock> try_take(const std::filesystem::path& file);

  private:
    explicit RunLock(int fd) : fd_(fd) {}
    OwnedFd fd_;
};

/// A handle on a process that stays on it, no matter which process gets its pid next.
class ProcessHandle {
  public:
    /// nullopt: there is no such process.
    static std::optional<ProcessHandle> open(pid_t pid);
    pid_t pid() const { return pid_; }
    /// errno, 0 if sent.
    int send(int signal) const;
    bool ended() const;

  private:
    ProcessHandle(pid_t pid, int fd) : pid_(pid), fd_(fd) {}
    pid_t pid_;
    OwnedFd fd_;
};

}  // namespace sluice
