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

#include "sluice/base/file_problem.h"
#include "sluice/base/files.h"

namespace sluice {
namespace {

using Kind = OpenedOutput::Kind;

/// s. Another machine's upload handler may have written the file a moment ago: NFS keeps what a folder holds for a
/// minute (acdirmax).
constexpr std::int64_t kCacheTime = 120;
/// s without a change, after which a missing folder, or a tree without files, is what is left.
constexpr std::int64_t kQuietTime = 86400;

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

bool is_empty_folder(const fs::path& folder) {
    std::error_code failed;
    const fs::directory_iterator first(folder, failed);
    return failed || first == fs::directory_iterator();
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
    const OwnedFd root = open_folder(root_);
    if (root.get() < 0) return not_open(Kind::kAway, file, file_problem(errno, root_));
    // Opened before what lies in it: a file server is asked for its present content.
    const OwnedFd folder = open_folder(file.parent_path());
    if (folder.get() < 0 && errno == ENOENT) return folder_missing(file, received);
    if (folder.get() < 0) return not_open(Kind::kAway, file, file_problem(errno, file.parent_path()));
    OwnedFd fd(open_(folder.get(), file.filename().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd.get() < 0 && errno == ENOENT) {
        if (!is_local(folder.get()) && received + kCacheTime > now_)
            return not_open(Kind::kAway, file, std::string(std::strerror(ENOENT)) + " (yet)");
        return missing(file, received);
    }
    constexpr const char* kStrangeFile = "it is a link or a pipe, no file that was uploaded";
    if (fd.get() < 0 && (errno == ELOOP || errno == ENXIO)) return not_open(Kind::kStrange, file, kStrangeFile);
    struct stat info {};
    if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0) return not_open(Kind::kAway, file, file_problem(errno, file));
    if (!S_ISREG(info.st_mode)) return not_open(Kind::kStrange, file, kStrangeFile);
    return {Kind::kOpen, std::move(fd), {}};
}

OpenedOutput UploadTree::missing(const fs::path& file, std::int64_t received) {
    if (holds_files() || quiet(file.parent_path(), received)) return not_open(Kind::kLost, file, std::strerror(ENOENT));
    return not_open(Kind::kAway, file,
                    std::string(std::strerror(ENOENT)) + ", nor is any other file below " + root_.string() +
                        ": is a file system not mounted?");
}

OpenedOutput UploadTree::folder_missing(const fs::path& file, std::int64_t received) {
    const std::string reason = std::string(std::strerror(ENOENT)) + ", its folder is not there";
    if (!holds_files())
        return not_open(Kind::kAway, file,
                        reason + ", nor is any file below " + root_.string() + ": is a file system not mounted?");
    return not_open(quiet(root_, received) ? Kind::kLost : Kind::kNoFolder, file, reason);
}

/// Any file of anybody. Folders stay when their files are deleted: one that is empty says nothing.
bool UploadTree::holds_files() {
    if (holds_files_) return *holds_files_;
    std::error_code failed;
    const auto counts = [&](const fs::directory_entry& entry) {
        if (entry.path().filename().string().starts_with('.')) return false;
        return !entry.is_directory(failed) || !is_empty_folder(entry.path());
    };
    bool found = false;
    for (auto at = fs::directory_iterator(root_, failed); !failed && !found && at != fs::directory_iterator();
         at.increment(failed))
        found = counts(*at);
    return *(holds_files_ = found);
}

bool UploadTree::quiet(const fs::path& folder, std::int64_t received) const {
    struct stat info {};
    return ::stat(folder.c_str(), &info) == 0 && std::max<std::int64_t>(received, info.st_mtime) + kQuietTime < now_;
}

}  // namespace sluice
