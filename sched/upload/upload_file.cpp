// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/upload/upload_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <vector>

#include "sluice/base/disk.h"
#include "sluice/base/hash.h"
#include "sluice/base/log.h"

namespace sluice::upload {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCompareBlock = 64 * 1024;
constexpr mode_t kWrite = 0222;

/// How a complete file differs from one that is still to be resumed, by root too: nobody may write it.
bool read_only(const struct stat& file) { return S_ISREG(file.st_mode) && (file.st_mode & kWrite) == 0; }

/// nullopt: nothing has that name.
std::optional<struct stat> find_file(int folder, const std::string& name) {
    struct stat there {};
    if (::fstatat(folder, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
    return there;
}

bool belongs_to_another(int fd) {
    struct stat info {};
    return ::fstat(fd, &info) == 0 && info.st_uid != ::geteuid();
}

Problem problem(const char* what, int error) { return {fmt::format("{}: {}", what, std::strerror(error))}; }

/// A folder that is made here (bin/start has made the usual ones) gets its parent's permissions. Where the parent is
/// another account's and closed to others, what the group may others may, too: of these only that account gets there.
/// It need not be in the web server's group, and has to read and delete what is uploaded.
mode_t mode_below(const struct stat& parent) {
    const mode_t mode = parent.st_mode & 07777;
    const bool of_another = parent.st_uid != ::geteuid() && (mode & S_IXOTH) == 0;
    return of_another ? mode | ((mode & S_IRWXG) >> 3) : mode;
}

/// A folder below `parent`, made if `root` is `mounted`; null: it is not made.
OwnedFd open_folder(int parent, const char* name, const IsMounted* mounted, const fs::path& root) {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    OwnedFd folder(::openat(parent, name, kFlags));
    if (folder.get() >= 0 || errno != ENOENT || mounted == nullptr) return folder;
    if (!(*mounted)(root)) {
        errno = ENODEV;
        return folder;
    }
    const bool made = ::mkdirat(parent, name, 0771) == 0;
    if (!made && errno != EEXIST) return folder;
    folder = OwnedFd(::openat(parent, name, kFlags));
    struct stat of_parent {};
    if (made && folder.get() >= 0 && ::fstat(parent, &of_parent) == 0) {
        // Not being allowed to is no failure: the umask then decides.
        if (::fchmod(folder.get(), mode_below(of_parent)) != 0) errno = 0;
    }
    return folder;
}

struct flock whole_file(short type) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return lock;
}

/// Where another account began it, its handler has ended, and nobody here may go on with it. A file that is just being
/// opened or named is younger; of one that can't be read it is not known whether it is locked, but a handler that gets
/// nothing for five minutes ends. The lock keeps another handler from going on with it before it is gone.
bool remove_abandoned(int folder, const char* name, struct stat file) {
    constexpr time_t kYoung = 60, kSilent = 600;  // s
    const OwnedFd fd(::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct flock lock = whole_file(F_RDLCK);
    const bool locked = fd.get() >= 0 && ::fcntl(fd.get(), F_SETLK, &lock) == 0;
    if (fd.get() >= 0 && !locked && (errno == EACCES || errno == EAGAIN)) return false;
    if (fd.get() >= 0 && (::fstat(fd.get(), &file) != 0 || read_only(file))) return false;  // complete by now
    return file.st_mtime + (locked ? kYoung : kSilent) <= ::time(nullptr) && ::unlinkat(folder, name, 0) == 0;
}

/// To be read. What another account began and nobody else may read has to be begun anew: it counts as missing.
OwnedFd open_to_read(int folder, const char* name) {
    OwnedFd fd(::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat there {};
    if (fd.get() < 0 && errno == EACCES) {
        const bool begun =
            ::fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(there.st_mode) && !read_only(there);
        errno = begun ? ENOENT : EACCES;
    }
    return fd;
}

/// Opens the last component, which was `before`, to be written. An existing file without any write permission is
/// complete, for root too.
OwnedFd open_leaf(int folder, const char* name, const std::optional<struct stat>& before, int mode, bool& completed) {
    constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    if (!before || !read_only(*before)) {
        const auto open = [&] {
            return OwnedFd(::openat(folder, name, O_RDWR | O_CREAT | kFlags, static_cast<mode_t>(mode)));
        };
        OwnedFd fd = open();
        if (fd.get() >= 0 || errno != EACCES || !before || !S_ISREG(before->st_mode)) return fd;
        if (remove_abandoned(folder, name, *before)) return open();
        errno = EACCES;
        return fd;
    }
    completed = true;
    OwnedFd fd(::openat(folder, name, O_RDONLY | kFlags));
    if (fd.get() < 0 && errno == EACCES) return OwnedFd(::openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    return fd;
}

std::optional<Problem> write_all(int fd, std::uint64_t offset, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return errno == ENOSPC || errno == EDQUOT ? Problem{"No space left on server"}
                                                      : problem("can't write file", errno);
        bytes.remove_prefix(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
    return std::nullopt;
}

/// How many of `bytes`, from the first one, stand at `offset` already.
std::size_t already_there(int fd, std::uint64_t offset, std::string_view bytes) {
    std::vector<char> buffer(std::min(bytes.size(), kCompareBlock));
    std::size_t same = 0;
    while (same < bytes.size()) {
        const ssize_t n =
            ::pread(fd, buffer.data(), std::min(buffer.size(), bytes.size() - same), static_cast<off_t>(offset + same));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        const auto got = static_cast<std::size_t>(n);
        const auto end = buffer.begin() + static_cast<std::ptrdiff_t>(got);
        const auto differs =
            std::mismatch(buffer.begin(), end, bytes.begin() + static_cast<std::ptrdiff_t>(same)).first;
        same += static_cast<std::size_t>(differs - buffer.begin());
        if (differs != end) break;
    }
    return same;
}

}  // namespace

std::string part_name(const std::string& name) {
    constexpr std::size_t kLongest = 255, kShown = 200;
    const std::string part = name + "..part";
    return part.size() <= kLongest ? part : name.substr(0, kShown) + ".." + md5_hex(name);
}

bool UploadFile::is_at(const std::string& name) const {
    const auto there = find_file(folder_.get(), name);
    return there && there->st_ino == opened_.st_ino && there->st_dev == opened_.st_dev;
}

bool is_mounted(const fs::path& folder) {
    try {
        const std::string place = unmounted_above(fs::canonical(folder));
        if (place.empty()) return true;
        log_once_an_hour(LogLevel::kCritical,
                         fmt::format("nothing is mounted at {}: uploads wait; run: mount {}", place, place));
        return false;
    } catch (const std::exception&) {  // /etc/fstab can't be read
        return true;
    }
}

std::uint64_t UploadFile::size() const {
    if (locked_size_) return *locked_size_;
    struct stat now {};
    return ::fstat(fd_.get(), &now) == 0 ? static_cast<std::uint64_t>(now.st_size) : 0;
}

std::optional<pid_t> UploadFile::lock() {
    struct flock lock = whole_file(F_WRLCK);
    if (::fcntl(fd_.get(), F_SETLK, &lock) != 0) return locked_by().value_or(0);
    struct stat now {};
    if (::fstat(fd_.get(), &now) == 0) {
        completed_ |= read_only(now);
        locked_size_ = static_cast<std::uint64_t>(now.st_size);
    }
    const bool was_named = named_;
    named_ = is_at(name_);  // its holder may have died between naming it and the last byte
    if (named_) return std::nullopt;
    if (was_named) return 0;  // deleted meanwhile: what is written to it would be lost
    const bool mine = is_at(part_);
    if (const auto there = find_file(folder_.get(), name_)) {
        // Somebody was quicker; what is open here was begun a moment after.
        if (mine) ::unlinkat(folder_.get(), part_.c_str(), 0);
        completed_ = read_only(*there);
        if (!completed_) return 0;  // he may be at it: the client comes again
    } else if (!mine) {
        return 0;  // deleted, or just about to be complete: the client comes again
    }
    return std::nullopt;
}

std::optional<pid_t> UploadFile::locked_by() const {
    struct flock lock = whole_file(F_RDLCK);
    if (::fcntl(fd_.get(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return std::nullopt;
    return lock.l_pid;
}

std::optional<Problem> UploadFile::put(std::uint64_t offset, std::string_view bytes) {
    std::uint64_t size_now = size();
    if (offset < size_now) {
        const std::size_t same = already_there(fd_.get(), offset, bytes);
        offset += same;
        bytes.remove_prefix(same);
        if (bytes.empty()) return std::nullopt;
        if (offset < size_now && ::ftruncate(fd_.get(), static_cast<off_t>(offset)) != 0)
            return problem("can't write file", errno);
        size_now = std::min(size_now, offset);
    }
    const bool locked = std::exchange(locked_size_, std::nullopt).has_value();
    if (auto failed = write_all(fd_.get(), offset, bytes)) return failed;
    if (locked) locked_size_ = std::max(size_now, offset + bytes.size());
    return std::nullopt;
}

std::optional<Problem> UploadFile::take_name() {
    if (named_) return std::nullopt;
    // A handler of another account may have put its own file there, or one that hides nothing.
    const Problem other{"can't name file: another upload of it is there"};
    if (find_file(folder_.get(), name_) || !is_at(part_)) return other;
    if (::renameat(folder_.get(), part_.c_str(), folder_.get(), name_.c_str()) != 0)
        return problem("can't name file", errno);
    if (!is_at(name_)) return other;
    named_ = true;
    return std::nullopt;
}

std::optional<Problem> UploadFile::finish(std::uint64_t nbytes) {
    if (size() > nbytes && ::ftruncate(fd_.get(), static_cast<off_t>(nbytes)) != 0)
        return problem("can't write file", errno);
    if (::fdatasync(fd_.get()) != 0 || (!part_.empty() && ::fsync(folder_.get()) != 0))
        return problem("can't write file", errno);
    return std::nullopt;
}

std::optional<Problem> UploadFile::seal(int mode) {
    const mode_t readable = read_by_another_ ? 0444 : 0;
    const mode_t wanted = mode < 0 ? (opened_.st_mode & 07777 & ~kWrite) | readable : static_cast<mode_t>(mode);
    if (::fchmod(fd_.get(), wanted) != 0) return problem("can't set permissions", errno);
    return std::nullopt;
}

UploadFile::Opened open_upload_file(const fs::path& root, const fs::path& relative, UploadFile::Access access, int mode,
                                    const IsMounted& mounted) {
    const bool write = access != UploadFile::Access::kRead;
    const auto failed = [&](const char* what) -> UploadFile::Opened {
        if (errno == ENOENT && !write) return {};
        return {std::nullopt, problem(what, errno)};
    };
    OwnedFd folder(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const bool of_another = folder.get() >= 0 && belongs_to_another(folder.get());
    for (const fs::path& part : relative.parent_path()) {
        if (folder.get() < 0) break;
        folder = open_folder(folder.get(), part.c_str(), write ? &mounted : nullptr, root);
    }
    if (folder.get() < 0) return failed("can't open folder");
    const std::string name = relative.filename(), part = part_name(name);
    // What was begun beside its place ends there, whatever is wished now.
    auto there = find_file(folder.get(), name);
    bool named = there.has_value(), completed = false;
    if (!named) {
        there = find_file(folder.get(), part);
        named = !there && access != UploadFile::Access::kWriteBeside;
    }
    const char* leaf = (named ? name : part).c_str();
    OwnedFd fd = write ? open_leaf(folder.get(), leaf, there, mode, completed) : open_to_read(folder.get(), leaf);
    const bool of_others = completed || (write && fd.get() < 0 && errno == EACCES);
    if (of_others && !named) {  // nothing without its name is complete: another account began it
        ::unlinkat(folder.get(), part.c_str(), 0);
        completed = false;
        fd = open_leaf(folder.get(), leaf, find_file(folder.get(), part), mode, completed);
        if (completed) return {std::nullopt, Problem{"can't open file: begun under another account"}};
    }
    if (fd.get() < 0) return failed("can't open file");
    struct stat opened {};
    if (::fstat(fd.get(), &opened) != 0) return failed("can't stat file");
    if (!S_ISREG(opened.st_mode)) return {std::nullopt, Problem{"not a regular file"}};
    UploadFile file(std::move(fd), opened, completed);
    file.read_by_another_ = of_another;
    if (write) file.folder_ = std::move(folder), file.name_ = name;
    if (write && !named) file.part_ = part, file.named_ = false;
    return {std::move(file), std::nullopt};
}

std::optional<double> free_bytes(const fs::path& folder) {
    struct statvfs volume {};
    if (::statvfs(folder.c_str(), &volume) != 0) return std::nullopt;
    return static_cast<double>(volume.f_bavail) * static_cast<double>(volume.f_frsize);
}

}  // namespace sluice::upload
