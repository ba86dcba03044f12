// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/run/hash_folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "sluice/base/files.h"

namespace sluice {
namespace {

/// More are never used: a folder of 16,384 is no smaller than what it divides.
constexpr int kMost = 16384;

std::set<std::string> names_in(int folder) {
    std::set<std::string> names;
    const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> all(copy < 0 ? nullptr : ::fdopendir(copy), ::closedir);
    while (const dirent* entry = all ? ::readdir(all.get()) : nullptr) names.emplace(entry->d_name);
    return names;
}

/// False: it can't be made so that the web server's account can write in it; then there is none.
bool make_one(int parent, const std::string& name, const struct stat& wanted) {
    // At once with its mode: who is not in its group could only take the set-group-ID bit from it later.
    if (::mkdirat(parent, name.c_str(), wanted.st_mode & 0777) != 0) return false;
    const OwnedFd folder(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat made {};
    if (folder.get() >= 0 && ::fstat(folder.get(), &made) == 0 &&
        (made.st_gid == wanted.st_gid || ::fchown(folder.get(), static_cast<uid_t>(-1), wanted.st_gid) == 0))
        return true;
    ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
    return false;
}

}  // namespace

int make_hash_folders(const std::filesystem::path& upload_dir, int fanout, EmptyFolder empty) {
    const OwnedFd parent(::open(upload_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat info {};
    if (parent.get() < 0 || ::fstat(parent.get(), &info) != 0 || info.st_uid != ::geteuid()) return 0;
    const std::set<std::string> there = names_in(parent.get());
    constexpr std::size_t kDots = 2;
    if (there.size() <= kDots && empty == EmptyFolder::kLeave) return 0;
    const mode_t mask = ::umask(0);
    int made = 0;
    for (int i = 0; i < std::min(fanout, kMost); ++i) {
        const std::string name = fanout_folder(static_cast<unsigned>(i));
        if (there.contains(name)) continue;
        if (!make_one(parent.get(), name, info)) break;
        ++made;
    }
    ::umask(mask);
    return made;
}

}  // namespace sluice
