// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/cleaning/file_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "sluice/base/download_folder.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

/// A gzip file ends with the size of its text, modulo 2^32.
bool is_gzip_of(const fs::path& file, std::uintmax_t size) {
    const OwnedFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat info {};
    if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < 18) return false;
    unsigned char head[2], tail[4];
    if (::pread(fd.get(), head, 2, 0) != 2 || ::pread(fd.get(), tail, 4, info.st_size - 4) != 4) return false;
    const std::uint32_t of_text = tail[0] | tail[1] << 8 | tail[2] << 16 | static_cast<std::uint32_t>(tail[3]) << 24;
    return head[0] == 0x1f && head[1] == 0x8b && of_text == static_cast<std::uint32_t>(size);
}

/// "MD5 SIZE"
bool is_md5_of(const fs::path& file, std::uintmax_t size) {
    std::error_code gone;
    if (!fs::is_regular_file(file, gone) || fs::file_size(file, gone) > 100) return false;
    const std::string text = read_file(file).value_or("");
    const auto words = split(trim(text), ' ');
    return words.size() == 2 && words[0].size() == 32 && words[1] == std::to_string(size);
}

}  // namespace

int open_trusted_folder(int at, const std::string& folder) {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    const int fd = ::openat(at, folder.c_str(), kFlags | O_NOFOLLOW);
    if (fd >= 0 || (errno != ELOOP && errno != ENOTDIR)) return fd;
    struct stat link {};
    if (::fstatat(at, folder.c_str(), &link, AT_SYMLINK_NOFOLLOW) != 0) return -1;
    if (S_ISLNK(link.st_mode) && (link.st_uid == 0 || link.st_uid == ::geteuid()))
        return ::openat(at, folder.c_str(), kFlags);
    errno = S_ISLNK(link.st_mode) ? ELOOP : ENOTDIR;
    return -1;
}

std::string FileTree::why_away() {
    struct stat info {};
    if (::stat(root_.c_str(), &info) != 0) return file_problem(errno, root_);
    const std::pair<dev_t, ino_t> folder{info.st_dev, info.st_ino};
    if (used_ == folder) return "";
    used_.reset();
    if (!has_files(root_)) return "no file lies in it: is a file system not mounted?";
    used_ = folder;
    return "";
}

fs::path FileTree::path(const std::string& name) const { return folder_of(name) + '/' + name; }

bool FileTree::is_made_of(const Place& place, const char* suffix) const {
    if (folder_of(place.name + suffix) != place.folder)
        return true;  // an input file of that name lies in another folder
    const std::string file = place.path(), beside = file + suffix;
    std::error_code gone;
    const std::uintmax_t size = fs::file_size(file, gone);
    if (gone || fs::exists(beside + ".md5")) return false;
    return std::string_view(suffix) == ".gz" ? is_gzip_of(beside, size) : is_md5_of(beside, size);
}

FileTree::Removal FileTree::failed(int error, const fs::path& place) {
    return {Removed::kFailed,
            place.string() + ": " +
                (error == ELOOP ? "it is a link of another account, and is not followed" : file_problem(error, place))};
}

FileTree::Place FileTree::find(const std::string& name) const {
    Place place{name, folder_of(name), {}};
    if (name.find('/') != name.npos) {  // it could lead out of the tree
        place.shut = failed(EINVAL, place.path());
        return place;
    }
    // With "/." a link in the place of the root itself is followed, whoever made it.
    place.fd = OwnedFd(open_trusted_folder(AT_FDCWD, fanout_ > 0 ? place.folder : place.folder + "/."));
    if (place.fd.get() >= 0) return place;
    const int error = errno;
    struct stat root {};
    if (error != ENOENT)
        place.shut = failed(error, place.folder);
    else if (::stat(root_.c_str(), &root) != 0)
        place.shut = failed(errno, root_);
    else
        place.shut = {Removed::kNoFolder};
    return place;
}

FileTree::Removal FileTree::remove(const Place& place, const char* suffix) const {
    if (place.fd.get() < 0) return place.shut;
    if (::unlinkat(place.fd.get(), (place.name + suffix).c_str(), 0) == 0) return {Removed::kYes};
    if (errno == ENOENT) return {Removed::kNoFile};
    return failed(errno, place.path() + suffix);
}

}  // namespace sluice
