// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "sluice/base/error.h"
#include "sluice/base/hash.h"
#include "sluice/base/regular_file.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"

namespace sluice {
namespace {

[[noreturn]] void fail(const std::string& what, const fs::path& path, int error) {
    throw FileError(what + " " + path.string() + ": " + file_problem(error, path));
}

int open_retrying(const fs::path& path, int flags, mode_t mode = 0) {
    for (;;) {
        const int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EINTR) return fd;
    }
}

}  // namespace

void copy_access_list(const fs::path& from, const fs::path& to) {
    constexpr const char* kList = "system.posix_acl_access";
    std::string list(std::size_t{1} << 16, '\0');  // the kernel's bound
    const ssize_t n = ::getxattr(from.c_str(), kList, list.data(), list.size());
    if (n < 0 && errno != ENODATA && errno != ENOTSUP)
        throw FileError("Can't read the access control list of " + from.string() + ": " + std::strerror(errno));
    const bool done = n >= 0 ? ::setxattr(to.c_str(), kList, list.data(), static_cast<std::size_t>(n), 0) == 0
                             : ::removexattr(to.c_str(), kList) == 0 || errno == ENODATA || errno == ENOTSUP;
    if (!done)
        throw FileError("Can't give " + to.string() + " the access control list of " + from.string() + ": " +
                        std::strerror(errno));
}

void sync_folder(const fs::path& folder) {
    const OwnedFd dir(open_retrying(folder, O_RDONLY | O_DIRECTORY));
    if (dir.get() >= 0) ::fsync(dir.get());
}

static void check_trust(const fs::path& path, const struct stat& info) {
    if (!S_ISREG(info.st_mode)) throw FileError(path.string() + " is no regular file, and is not used: remove it");
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    struct stat of_folder {};
    const bool known = ::stat(folder.c_str(), &of_folder) == 0;
    const bool open = (info.st_mode & S_IWOTH) != 0;
    if (!open && (info.st_uid == ::geteuid() || info.st_uid == 0 || (known && of_folder.st_uid == info.st_uid))) return;
    const std::string owner = user_name(of_folder.st_uid);
    throw FileError(
        path.string() + (open ? " can be changed by everybody" : " belongs to " + user_name(info.st_uid)) +
        ", and is not used; as root: " +
        ownership_command(owner, first_group(owner, of_folder.st_gid), "go-w", shell_quoted(path.string())));
}

static std::optional<std::string> read_checked(const fs::path& path, std::size_t limit, int flags,
                                               void (*check)(const fs::path&, const struct stat&)) {
    const OwnedFd file(open_retrying(path, O_RDONLY | flags));
    if (file.get() < 0) {
        if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
        fail("Can't read", path, errno);
    }
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) fail("Can't read", path, errno);
    if (S_ISDIR(info.st_mode)) fail("Can't read", path, EISDIR);
    check(path, info);
    std::string text;
    std::size_t have = 0;
    // One byte more than the size asked for, so that the usual file ends in the first read.
    std::size_t want = std::min(static_cast<std::size_t>(std::max<off_t>(info.st_size, 0)), limit) + 1;
    for (;;) {
        text.resize(want);
        const ssize_t n = ::read(file.get(), text.data() + have, want - have);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail("Can't read", path, errno);
        if (n == 0) break;
        have += static_cast<std::size_t>(n);
        if (have > limit) {
            throw FileError(path.string() + " is larger than " + std::to_string(limit) + " bytes; it is not read");
        }
        if (have == want) want = std::min(want * 2 + 4096, limit + 1);
    }
    text.resize(have);
    return text;
}

std::optional<std::string> read_file(const fs::path& path, std::size_t limit) {
    return read_checked(path, limit, 0, [](const fs::path&, const struct stat&) {});
}

std::optional<std::string> read_regular_file(const fs::path& path, std::size_t limit) {
    return read_checked(path, limit, O_NONBLOCK, [](const fs::path& file, const struct stat& info) {
        if (!S_ISREG(info.st_mode)) throw FileError(file.string() + " is no regular file, and is not read");
    });
}

std::optional<std::string> read_trusted_file(const fs::path& path, std::size_t limit) {
    // A FIFO would keep its reader waiting; opened so it does not, and is refused.
    return read_checked(path, limit, O_NONBLOCK, check_trust);
}

void write_file_atomically(const fs::path& path, std::string_view text, int mode) {
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    std::string temp = (folder / ("." + path.filename().string() + ".XXXXXX")).string();
    OwnedFd file(::mkostemp(temp.data(), O_CLOEXEC));
    if (file.get() < 0) fail("Can't write in the folder of", path, errno);
    try {
        if (!write_all(file.get(), text)) fail("Can't write", path, errno);
        if (::fchmod(file.get(), static_cast<mode_t>(mode)) != 0) fail("Can't set the mode of", path, errno);
        if (::fsync(file.get()) != 0) fail("Can't write", path, errno);
        file = OwnedFd();  // nobody can start a program that is open for writing
        if (::rename(temp.c_str(), path.c_str()) != 0) fail("Can't replace", path, errno);
    } catch (...) {
        ::unlink(temp.c_str());
        throw;
    }
    sync_folder(folder);
}

namespace {

/// Who may read a file can lock it for reading, and so keep everybody else from it: only who may also make files beside
/// it can (as CGI and beside a server the scheduler's accounts share a group).
mode_t lock_mode(const fs::path& path) {
    struct stat folder {};
    const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
    return ::stat(parent.c_str(), &folder) == 0 && (folder.st_mode & S_IWGRP) != 0 ? 0660 : 0600;
}

/// An existing file is opened without O_CREAT: in a sticky folder (log_HOST) the kernel refuses O_CREAT on
/// files of others.
int open_lock_file(const fs::path& path) {
    const mode_t mode = lock_mode(path);
    for (int attempt = 0; attempt < 10; ++attempt) {
        int fd = open_retrying(path, O_RDWR | O_NOFOLLOW);
        const bool there = fd >= 0;
        if (!there && errno != ENOENT) break;
        if (!there) fd = open_retrying(path, O_RDWR | O_CREAT | O_EXCL, mode);
        struct stat info {};
        // Whatever the umask, or the version that made it. The owner of another account's file decides about it.
        if (fd >= 0 && (!there || (::fstat(fd, &info) == 0 && (info.st_mode & 0777) != mode))) ::fchmod(fd, mode);
        if (fd >= 0) return fd;
        if (errno != EEXIST) break;
    }
    fail("Can't open the lock file", path, errno);
}

/// It excludes upstream's locks (fcntl), but belongs to the open file, not to the process. So it survives when this
/// process closes another descriptor of the file. False: somebody else holds it.
bool locked(int fd, const fs::path& path) {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    while (::fcntl(fd, F_OFD_SETLK, &whole) != 0) {
        if (errno == EAGAIN || errno == EACCES) return false;
        if (errno != EINTR) fail("Can't lock", path, errno);
    }
    return true;
}

/// Upstream's scheduler unlinks its lock files: what was opened a moment ago may not be the file of that name any more.
bool is_still_there(int fd, const fs::path& path) {
    struct stat opened {
    }, named{};
    return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

}  // namespace

std::optional<FileLock> FileLock::try_lock(const fs::path& path) {
    for (;;) {
        FileLock lock(open_lock_file(path));
        if (!locked(lock.fd_, path)) return std::nullopt;
        if (is_still_there(lock.fd_, path)) return lock;
    }
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
}

FileLock::~FileLock() {
    if (fd_ >= 0) ::close(fd_);
}

std::string fanout_folder(unsigned number) {
    char text[16];
    return {text, std::to_chars(text, text + sizeof text, number, 16).ptr};
}

std::string fanout_folder(std::string_view name, int fanout) {
    const std::string digest = md5_hex(name);
    unsigned value = 0;
    std::from_chars(digest.data() + 1, digest.data() + 8, value, 16);
    return fanout_folder(value % static_cast<unsigned>(fanout));
}

fs::path fanout_path(const fs::path& root, std::string_view name, int fanout) {
    return fanout <= 0 ? root / name : root / fanout_folder(name, fanout) / name;
}

std::string fanout_url(std::string_view url, std::string_view name, int fanout) {
    std::string out(url);
    out += '/';
    if (fanout > 0) out += fanout_folder(name, fanout) + '/';
    return out.append(name);
}

bool is_valid_file_name(std::string_view name) {
    if (name.empty() || name.size() > 255 || name.front() == '/') return false;
    if (name.find("..") != std::string_view::npos) return false;
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 32 || byte == 127) return false;
    }
    return true;
}

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
