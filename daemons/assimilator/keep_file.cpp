// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/assimilator/keep_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "sluice/base/error.h"
#include "sluice/base/files.h"

namespace sluice {
namespace {

[[noreturn]] void fail(const char* what, const fs::path& path) {
    throw FileError(std::string(what) + " " + path.string() + ": " + file_problem(errno, path));
}

void copy(int from, const fs::path& to) {
    const OwnedFd out(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0664));
    if (out.get() < 0) fail("Can't write", to);
    std::array<char, 1 << 16> block{};
    ssize_t n = 0;
    while ((n = ::read(from, block.data(), block.size())) > 0)
        if (!write_all(out.get(), {block.data(), static_cast<std::size_t>(n)})) fail("Can't write", to);
    if (n < 0) fail("Can't copy to", to);
    if (::fsync(out.get()) != 0) fail("Can't write", to);
}

}  // namespace

bool keep_file(const fs::path& from, const fs::path& to) {
    const OwnedFd file(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file.get() < 0) {
        if (errno == ENOENT) return false;
        fail("Can't read", from);
    }
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) fail("Can't read", from);
    if (!S_ISREG(status.st_mode)) throw FileError(from.string() + " is no regular file");
    const std::string opened = "/proc/self/fd/" + std::to_string(file.get());
    const auto link_to = [&](const fs::path& name) {
        return ::linkat(AT_FDCWD, opened.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
    };
    if (link_to(to)) return true;
    const fs::path fresh = to.string() + ".new";
    ::unlink(fresh.c_str());
    const bool copied = !link_to(fresh);
    if (copied) copy(file.get(), fresh);
    // Two names of one file: rename() would leave both.
    if (::rename(fresh.c_str(), to.c_str()) != 0) fail("Can't write", to);
    ::unlink(fresh.c_str());
    // A link is on the disk before the upload's removal is. Of two file systems neither waits for the other.
    if (copied) sync_folder(to.parent_path());
    return true;
}

void make_result_folder(const fs::path& folder) {
    if (::mkdir(folder.c_str(), 0771) != 0 && errno != EEXIST) fail("Can't make the folder", folder);
}

std::string flat_name(std::string name) {
    std::ranges::replace(name, '/', '_');
    return name;
}

}  // namespace sluice
