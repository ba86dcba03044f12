// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/project/make_project/open_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "sluice/base/error.h"
#include "sluice/base/files.h"

namespace sluice {
namespace {

std::string temporary(const std::string& name) { return "." + name + ".new"; }

}  // namespace

OpenFolder::OpenFolder(int parent, const std::string& name, std::filesystem::path path)
    : path_(std::move(path)), fd_(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_.get() < 0)
        throw FileError(fmt::format("Can't open the folder {}: {}", path_.string(), file_problem(errno, path_)));
}

OpenFolder::OpenFolder(const std::filesystem::path& path) : OpenFolder(AT_FDCWD, path.string(), path) {}

OpenFolder OpenFolder::folder(const char* name) const { return {fd_.get(), name, path_ / name}; }

void OpenFolder::fail(const char* what, const std::string& name) const {
    const std::filesystem::path file = path_ / name;
    throw FileError(fmt::format("Can't {} {}: {}", what, file.string(), file_problem(errno, file)));
}

struct stat OpenFolder::info() const {
    struct stat info {};
    if (::fstat(fd_.get(), &info) != 0) fail("look at", ".");
    return info;
}

std::optional<struct stat> OpenFolder::look_at(const std::string& name) const {
    struct stat info {};
    if (::fstatat(fd_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) return info;
    if (errno != ENOENT) fail("look at", name);
    return std::nullopt;
}

std::vector<std::string> OpenFolder::names() const {
    OwnedFd fd(::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR* const listing = fd.get() < 0 ? nullptr : ::fdopendir(fd.get());
    if (listing == nullptr) fail("list", ".");
    fd.release();
    std::vector<std::string> names;
    while (const dirent* const entry = ::readdir(listing)) names.emplace_back(entry->d_name);
    ::closedir(listing);
    std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
    std::ranges::sort(names);
    return names;
}

std::string OpenFolder::text_of(const std::string& name, std::size_t longest) const {
    const OwnedFd fd(::openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat info {};
    if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
        static_cast<std::size_t>(info.st_size) > longest)
        return {};
    std::string text(static_cast<std::size_t>(info.st_size), '\0');
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t n = ::read(fd.get(), text.data() + done, text.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return {};
        done += static_cast<std::size_t>(n);
    }
    return text;
}

void OpenFolder::put_file(const std::string& name, std::string_view text, mode_t mode) const {
    const std::string made = temporary(name);
    ::unlinkat(fd_.get(), made.c_str(), 0);  // an earlier call was ended
    OwnedFd fd(::openat(fd_.get(), made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    const bool written = fd.get() >= 0 && write_all(fd.get(), text) && ::fchmod(fd.get(), mode) == 0;
    if (!written || ::fsync(fd.get()) != 0) fail("write", made);
    fd = OwnedFd();  // nobody can start a program that is open for writing
    rename(made, name);
}

void OpenFolder::put_link(const std::string& name, const std::filesystem::path& target) const {
    const std::string made = temporary(name);
    ::unlinkat(fd_.get(), made.c_str(), 0);
    if (::symlinkat(target.c_str(), fd_.get(), made.c_str()) != 0) fail("make the link", made);
    rename(made, name);
}

void OpenFolder::make_folder(const std::string& name) const {
    if (::mkdirat(fd_.get(), name.c_str(), 0755) != 0 && errno != EEXIST) fail("make the folder", name);
}

void OpenFolder::rename(const std::string& from, const std::string& to) const {
    if (::renameat(fd_.get(), from.c_str(), fd_.get(), to.c_str()) != 0) fail("put into place", to);
    ::fsync(fd_.get());  // some file systems can't sync folders
}

}  // namespace sluice
