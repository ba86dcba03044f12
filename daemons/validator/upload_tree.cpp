// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/validator/upload_tree.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sluice/base/files.h"

namespace sluice {
namespace {

using Kind = OpenedOutput::Kind;

/// s. Another machine's upload handler may have written the file a moment ago: NFS keeps what a folder holds for a
/// minute (acdirmax).
constexpr std::int64_t kCacheTime = 120;
constexpr int kFileFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
constexpr long kXfs = 0x58465342, kZfs = 0x2fc12fc1, kBcachefs = static_cast<long>(0xca451a4e);

/// True: only this machine writes to it, and no cache lies between. Of what is not known: false.
bool is_local(int fd) {
    static constexpr std::array<long, 9> kLocal{EXT4_SUPER_MAGIC, kXfs,        BTRFS_SUPER_MAGIC,
                                                F2FS_SUPER_MAGIC, TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC,
                                                RAMFS_MAGIC,      kZfs,        kBcachefs};
    struct statfs info {};
    return ::fstatfs(fd, &info) == 0 && std::ranges::find(kLocal, static_cast<long>(info.f_type)) != kLocal.end();
}

OpenedOutput not_open(Kind kind, const fs::path& file, const std::string& reason) {
    return {kind, {}, file.string() + ": " + reason};
}

/// As readdir() and stat() see it: 0 if it is no file.
std::int64_t changed(const fs::directory_entry& entry) {
    struct stat info {};
    const bool seen = ::lstat(entry.path().c_str(), &info) == 0 && S_ISREG(info.st_mode);
    return seen ? info.st_mtime : 0;
}

}  // namespace

UploadTree::UploadTree(fs::path root, std::int64_t now, Open open)
    : root_(std::move(root)), now_(now), open_(std::move(open)) {
    if (!open_) open_ = [](int folder, const char* name, int flags) { return ::openat(folder, name, flags); };
}

OwnedFd UploadTree::open_folder(const fs::path& folder) const {
    return OwnedFd(open_(AT_FDCWD, folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

OpenedOutput UploadTree::open(const fs::path& file, std::int64_t received) {
    struct stat info {};
    OwnedFd found(open_(AT_FDCWD, file.c_str(), kFileFlags));
    if (found.get() >= 0 && ::fstat(found.get(), &info) == 0 && S_ISREG(info.st_mode))
        return {Kind::kOpen, std::move(found), {}};
    return look_closely(file, received);
}

OpenedOutput UploadTree::look_closely(const fs::path& file, std::int64_t received) {
    const OwnedFd root = open_folder(root_);
    if (root.get() < 0) return not_open(Kind::kAway, file, file_problem(errno, root_));
    // Opened before what lies in it: a file server is asked for its present content.
    const OwnedFd folder = open_folder(file.parent_path());
    if (folder.get() < 0 && errno == ENOENT) return folder_missing(file, received);
    if (folder.get() < 0) return not_open(Kind::kAway, file, file_problem(errno, file.parent_path()));
    OwnedFd fd(open_(folder.get(), file.filename().c_str(), kFileFlags));
    if (fd.get() < 0 && errno == ENOENT) {
        if (!is_local(folder.get()) && received + kCacheTime > now_)
            return not_open(Kind::kAway, file, std::string(std::strerror(ENOENT)) + " (yet)");
        return missing(file, folder.get(), received);
    }
    constexpr const char* kStrangeFile = "it is a link or a pipe, no file that was uploaded";
    if (fd.get() < 0 && (errno == ELOOP || errno == ENXIO)) return not_open(Kind::kStrange, file, kStrangeFile);
    struct stat info {};
    if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0) return not_open(Kind::kAway, file, file_problem(errno, file));
    if (!S_ISREG(info.st_mode)) return not_open(Kind::kStrange, file, kStrangeFile);
    return {Kind::kOpen, std::move(fd), {}};
}

OpenedOutput UploadTree::missing(const fs::path& file, int folder, std::int64_t received) {
    const std::string reason = std::strerror(ENOENT);
    if (!was_used_before(received)) return nothing_there(file, reason);
    if (is_younger(folder, file.parent_path(), received) && !long_ago(received))
        return not_open(Kind::kNoFolder, file, reason + ", its folder was made after the report");
    return not_open(Kind::kLost, file, reason);
}

OpenedOutput UploadTree::folder_missing(const fs::path& file, std::int64_t received) {
    const std::string reason = std::string(std::strerror(ENOENT)) + ", its folder is not there";
    if (!was_used_before(received)) return nothing_there(file, reason);
    struct stat info {};
    const bool lost = ::stat(root_.c_str(), &info) == 0 && long_ago(std::max<std::int64_t>(received, info.st_mtime));
    return not_open(lost ? Kind::kLost : Kind::kNoFolder, file, reason);
}

OpenedOutput UploadTree::nothing_there(const fs::path& file, const std::string& reason) const {
    return not_open(Kind::kEmpty, file,
                    reason + ", nor is any file below " + root_.string() +
                        (oldest_ ? " that is as old as the report" : "") + ": is a file system not mounted?");
}

bool UploadTree::long_ago(std::int64_t when) const { return when + kLongOutage < now_; }

/// Any file of anybody. Folders say nothing: below a file system that is not mounted there are folders, too, and files
/// that came since.
bool UploadTree::was_used_before(std::int64_t received) {
    const auto found = [&] { return oldest_ && *oldest_ <= received; };
    if (!all_seen_ && !found()) {
        look_for_files(root_, received);
        std::error_code failed, no_folder;
        for (auto at = fs::directory_iterator(root_, failed); !found() && !failed && at != fs::directory_iterator();
             at.increment(failed))
            if (at->is_directory(no_folder)) look_for_files(at->path(), received);
        all_seen_ = !found();
    }
    return found() || (oldest_ && long_ago(received));
}

/// Ends at the first that is old enough.
void UploadTree::look_for_files(const fs::path& folder, std::int64_t received) {
    std::error_code failed;
    for (auto at = fs::directory_iterator(folder, failed); !failed && at != fs::directory_iterator();
         at.increment(failed)) {
        if (oldest_ && *oldest_ <= received) return;
        const std::int64_t when = at->path().filename().string().starts_with('.') ? 0 : changed(*at);
        if (when != 0) oldest_ = std::min(when, oldest_.value_or(when));
    }
}

/// It came after the report: start or the upload handler made it anew, and what was in it is elsewhere. Where a file
/// system does not tell when, only a file in it that is older shows that it is the old one.
bool UploadTree::is_younger(int folder, const fs::path& path, std::int64_t received) const {
    struct statx info {};
    if (::statx(folder, "", AT_EMPTY_PATH, STATX_BTIME, &info) == 0 && (info.stx_mask & STATX_BTIME) != 0)
        return info.stx_btime.tv_sec > received;
    UploadTree only(path, now_);
    only.look_for_files(path, received);
    return !only.oldest_ || *only.oldest_ > received;
}

std::optional<fs::path> UploadTree::elsewhere(const fs::path& file) const {
    std::error_code failed;
    const auto lies_in = [&](const fs::path& folder) {
        struct stat info {};
        return ::lstat((folder / file.filename()).c_str(), &info) == 0;
    };
    if (lies_in(root_)) return root_ / file.filename();
    for (auto at = fs::directory_iterator(root_, failed); !failed && at != fs::directory_iterator();
         at.increment(failed))
        if (lies_in(at->path())) return at->path() / file.filename();
    return std::nullopt;
}

}  // namespace sluice
