// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sluice/base/write_all.h"

namespace sluice {

/// An open file descriptor, closed with it; -1: none.
class OwnedFd {
  public:
    OwnedFd() = default;
    explicit OwnedFd(int fd) : fd_(fd) {}
    OwnedFd(OwnedFd&& other) noexcept : fd_(other.release()) {}
    OwnedFd& operator=(OwnedFd&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~OwnedFd() {
        if (fd_ >= 0) ::close(fd_);
    }
    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }

  private:
    int fd_ = -1;
};

// Why a file could not be read or written, for messages.

/// The words for an errno; for a denied permission also who this process is, whose the file is (or the folder that
/// keeps it out), and what to do.
std::string file_problem(int error, const std::filesystem::path& path);

// Files, written whole or not at all, and locks that the kernel releases when their holder dies.

namespace fs = std::filesystem;

/// The whole file; nullopt if it does not exist. Throws FileError if it exists but can't be read or is larger
/// than `limit` bytes.
std::optional<std::string> read_file(const fs::path& path, std::size_t limit = std::size_t{64} << 20);

/// Temporary file in the same folder, fsync, rename, fsync of the folder: a reader sees the old text or the new.
/// Throws FileError.
void write_file_atomically(const fs::path& path, std::string_view text, int mode = 0664);
/// Gives `to` the access control list of `from`, or none if that has none. Throws FileError.
void copy_access_list(const fs::path& from, const fs::path& to);
/// Makes renames in it durable. Some file systems can't sync folders; the rename is atomic all the same.
void sync_folder(const fs::path& folder);

/// An exclusive lock on a file (created, mode 0660, if missing), held until destruction or death of the process.
/// Excludes upstream's programs, which lock with fcntl(F_SETLK). The file is never unlinked: unlinking a lock file lets
/// two holders in. Nobody waits for it: an account with fewer rights may hold it.
class FileLock {
  public:
    /// nullopt if another process holds it. Throws FileError if the file can't be opened.
    static std::optional<FileLock> try_lock(const fs::path& path);
    FileLock(FileLock&& other) noexcept;
    FileLock& operator=(FileLock&& other) noexcept;
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;
    ~FileLock();

  private:
    explicit FileLock(int fd) : fd_(fd) {}
    int fd_ = -1;
};

/// BOINC's fan-out: root/HASH/name, HASH = 7 hex digits of md5(name) from the second one, modulo fanout, in
/// lower-case hex without padding; fanout <= 0: root/name. (Upstream behaviour: "foo", 1024 -> "db")
fs::path fanout_path(const fs::path& root, std::string_view name, int fanout);
/// The name of one of these folders, from 0 to fanout-1.
std::string fanout_folder(unsigned number);
/// The one of the file `name`; `fanout` is above 0.
std::string fanout_folder(std::string_view name, int fanout);
/// The same for an URL: url/HASH/name.
std::string fanout_url(std::string_view url, std::string_view name, int fanout);
/// No control characters, no "..", no leading '/', not empty, at most 255 bytes.
bool is_valid_file_name(std::string_view name);

}  // namespace sluice
