// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/cgi/change_notice.h"

#include <linux/magic.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sluice {
namespace {

/// What comes, goes, or gets other rights. What is written is told of the files themselves: of a folder of logs it
/// would be told all the time.
constexpr std::uint32_t kOfFolder =
    IN_CREATE | IN_DELETE | IN_MOVE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_MASK_ADD;
constexpr std::uint32_t kOfFile = kOfFolder | IN_MODIFY;
/// Beyond that the watches themselves would cost too much.
constexpr std::size_t kMostFiles = 500;

/// File systems that no other machine changes.
bool is_local(const fs::path& path) {
    constexpr long kXfs = 0x58465342, kZfs = 0x2fc12fc1;
    struct statfs system {};
    if (::statfs(path.c_str(), &system) != 0) return false;
    for (const long known :
         {long{EXT4_SUPER_MAGIC}, kXfs, long{BTRFS_SUPER_MAGIC}, kZfs, long{F2FS_SUPER_MAGIC}, long{TMPFS_MAGIC}})
        if (system.f_type == known) return true;
    return false;
}

}  // namespace

void ChangeNotice::watch(std::vector<fs::path> files) {
    files_ = std::move(files);
    usable_ = files_.size() <= kMostFiles;
    said_ = {};
}

bool ChangeNotice::any(Clock::time_point now) {
    constexpr std::chrono::seconds kAtLeastEach{1};
    const bool late = said_ == Clock::time_point() || now - said_ >= kAtLeastEach;
    if (!late && usable_ && !told()) return false;
    arm();  // before anybody looks: nothing is missed in between
    said_ = now;
    return true;
}

/// A file that is there now may be another one, or have been missing before. What is watched already is not added.
void ChangeNotice::arm() {
    if (!usable_) return;
    if (inotify_.get() < 0) inotify_ = OwnedFd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    told();  // of the time before
    usable_ = std::all_of(files_.begin(), files_.end(), [this](const fs::path& file) { return add(file); });
}

/// False: its changes would not be told. A file that can't be read may change: nobody here would see the difference,
/// unless it gets other rights, which its folder tells.
bool ChangeNotice::add(const fs::path& file) {
    const fs::path folder = file.parent_path();
    if (::inotify_add_watch(inotify_.get(), folder.c_str(), kOfFolder) < 0 || !is_local(folder)) return false;
    if (!file.has_filename()) return true;
    if (::inotify_add_watch(inotify_.get(), file.c_str(), kOfFile) < 0) return errno == ENOENT || errno == EACCES;
    return is_local(file);
}

/// Whether the kernel told of anything, which is then forgotten.
bool ChangeNotice::told() const {
    alignas(inotify_event) char events[4096];
    bool any = false;
    while (::read(inotify_.get(), events, sizeof events) > 0) any = true;
    return any;
}

}  // namespace sluice
