// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch/pack.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlock = 512;  ///< of a tar file

[[noreturn]] void fail(const std::string& what, const fs::path& path) {
    throw FileError(what + " " + in_one_line(path.string()) + ": " + file_problem(errno, path));
}

/// The archive as it grows, under another name.
class GzipFile {
  public:
    explicit GzipFile(const fs::path& archive) : archive_(archive), fresh_(archive.string() + ".new") {
        fd_ = OwnedFd(::open(fresh_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0664));
        if (fd_.get() < 0) fail("can't write", fresh_);
        if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0)
            throw ConfigError(fresh_.string() + ": another sluice_batch writes it: wait for its end");
        struct stat locked {
        }, named{};
        if (::fstat(fd_.get(), &locked) != 0 || ::lstat(fresh_.c_str(), &named) != 0 || locked.st_ino != named.st_ino ||
            locked.st_dev != named.st_dev)
            throw ConfigError(archive.string() + ": another sluice_batch has just written it: look at it first");
        owned_ = true;
        if (::ftruncate(fd_.get(), 0) != 0) fail("can't write", fresh_);
        const int copy = ::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0);
        stream_ = copy < 0 ? nullptr : ::gzdopen(copy, "wb1");
        if (stream_ == nullptr) fail("can't write", fresh_);
    }
    GzipFile(const GzipFile&) = delete;
    ~GzipFile() {
        if (stream_ != nullptr) ::gzclose(stream_);
        if (owned_) ::unlink(fresh_.c_str());
    }
    void write(const void* bytes, std::size_t n) {
        if (n > 0 && ::gzwrite(stream_, bytes, static_cast<unsigned>(n)) != static_cast<int>(n))
            fail("can't write", fresh_);
    }
    /// Gives it its name. Its size.
    std::uint64_t finish() {
        const int closed = ::gzclose(stream_);
        stream_ = nullptr;
        struct stat status {};
        if (closed != Z_OK || ::fsync(fd_.get()) != 0 || ::fstat(fd_.get(), &status) != 0 ||
            ::rename(fresh_.c_str(), archive_.c_str()) != 0)
            fail("can't write", archive_);
        owned_ = false;
        sync_folder(archive_.parent_path());
        return static_cast<std::uint64_t>(status.st_size);
    }

  private:
    fs::path archive_, fresh_;
    OwnedFd fd_;
    gzFile stream_ = nullptr;
    bool owned_ = false;
};

template <std::size_t n>
void put_octal(std::array<char, kBlock>& header, std::size_t at, std::uint64_t value) {
    const std::string digits = fmt::format("{:0{}o}", value, n - 1);
    std::copy(digits.begin(), digits.end(), header.begin() + static_cast<std::ptrdiff_t>(at));
}

/// As POSIX has it (ustar). `size` below 8^11, `name` at most 100 bytes: extended headers say what is more.
void write_header(GzipFile& out, const std::string& name, std::uint64_t size, std::int64_t time, char type) {
    std::array<char, kBlock> header{};
    std::copy_n(name.begin(), std::min<std::size_t>(name.size(), 100), header.begin());
    put_octal<8>(header, 100, 0644);
    put_octal<8>(header, 108, 0);
    put_octal<8>(header, 116, 0);
    put_octal<12>(header, 124, size);
    put_octal<12>(header, 136, static_cast<std::uint64_t>(std::max<std::int64_t>(time, 0)));
    std::memset(&header[148], ' ', 8);
    header[156] = type;
    std::memcpy(&header[257], "ustar\00000", 8);
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    put_octal<7>(header, 148, sum);
    header[154] = '\0';
    out.write(header.data(), header.size());
}

void fill_block(GzipFile& out, std::uint64_t written) {
    static constexpr std::array<char, kBlock> kZeros{};
    if (written % kBlock != 0) out.write(kZeros.data(), kBlock - written % kBlock);
}

/// A record of an extended header: its length, itself included, a key and a value.
std::string extended(const std::string& key, const std::string& value) {
    const std::size_t rest = key.size() + value.size() + 3;
    std::size_t length = rest + 1;
    while (std::to_string(length).size() + rest != length) length = std::to_string(length).size() + rest;
    return fmt::format("{} {}={}\n", length, key, value);
}

void write_names(GzipFile& out, const std::string& name, std::uint64_t size, std::int64_t time) {
    constexpr std::uint64_t kMostInHeader = (std::uint64_t{1} << 33) - 1;
    std::string more;
    if (name.size() > 100) more += extended("path", name);
    if (size > kMostInHeader) more += extended("size", std::to_string(size));
    if (!more.empty()) {
        write_header(out, "PaxHeader", more.size(), time, 'x');
        out.write(more.data(), more.size());
        fill_block(out, more.size());
    }
    write_header(out, name, size > kMostInHeader ? 0 : size, time, '0');
}

/// Its size, as it is in the archive.
std::uint64_t write_file(GzipFile& out, const fs::path& path, const std::string& name) {
    const OwnedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status {};
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0) fail("can't read", path);
    if (!S_ISREG(status.st_mode)) throw FileError(in_one_line(path.string()) + " is no regular file any more");
    const auto size = static_cast<std::uint64_t>(status.st_size);
    write_names(out, name, size, status.st_mtime);
    static std::array<char, 1 << 18> block;
    for (std::uint64_t left = size; left > 0;) {
        const ssize_t n = ::read(file.get(), block.data(), std::min<std::uint64_t>(left, block.size()));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail("can't read", path);
        if (n == 0)
            throw FileError(in_one_line(path.string()) + " became shorter while it was read: give the command again");
        out.write(block.data(), static_cast<std::size_t>(n));
        left -= static_cast<std::uint64_t>(n);
    }
    fill_block(out, size);
    return size;
}

struct Found {
    std::vector<std::string> names = {};  ///< below the folder
    std::uint64_t bytes = 0, no_files = 0;
};

Found files_of(const fs::path& folder) {
    Found found;
    try {
        for (const auto& entry : fs::recursive_directory_iterator(folder)) {
            const fs::file_status status = entry.symlink_status();
            if (fs::is_directory(status)) continue;
            if (!fs::is_regular_file(status)) {
                ++found.no_files;
                continue;
            }
            found.names.push_back(entry.path().lexically_relative(folder).string());
            found.bytes += entry.file_size();
        }
    } catch (const fs::filesystem_error& e) {
        throw FileError("can't read " + in_one_line(e.path1().string()) + ": " + e.code().message());
    }
    std::ranges::sort(found.names);
    return found;
}

/// What does not get smaller must fit, too.
void require_room(const fs::path& archive, const Found& found) {
    struct statvfs disk {};
    const fs::path folder = archive.has_parent_path() ? archive.parent_path() : fs::path(".");
    if (::statvfs(folder.c_str(), &disk) != 0) fail("can't write to", folder);
    const double room = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize),
                 wanted = static_cast<double>(found.bytes) + 3.0 * kBlock * static_cast<double>(found.names.size() + 1);
    if (wanted > room)
        throw FileError(fmt::format(
            "{} has room for {:.1f} GB, and the files have {:.1f} GB: give --archive a file on a larger disk",
            in_one_line(folder.string()), room / 1e9, wanted / 1e9));
}

}  // namespace

Packed pack_folder(const fs::path& folder, const std::string& top, const fs::path& archive) {
    const Found found = files_of(folder);
    require_room(archive, found);
    GzipFile out(archive);
    Packed packed{.no_files = found.no_files};
    for (const std::string& name : found.names) {
        packed.bytes += write_file(out, folder / name, fmt::format("{}/{}", top, name));
        ++packed.files;
    }
    constexpr std::array<char, 2 * kBlock> kEnd{};
    out.write(kEnd.data(), kEnd.size());
    packed.archive_bytes = out.finish();
    return packed;
}

}  // namespace sluice
