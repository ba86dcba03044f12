// SPDX-License-Identifier: LGPL-3.0-or-later
// Where the counts lie, and who may write them. The project's account makes all files. What it finds damaged it makes
// anew: a program that has the old one mapped goes on counting there, for itself.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "sluice/base/bus_guard.h"
#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "src/base/metrics_file.h"

namespace sluice {
namespace metric_file {
namespace {

constexpr const char* kSuffix = ".counters";
constexpr const char* kWeb = "web";
constexpr mode_t kOwnMode = 0640, kWebMode = 0660;
constexpr std::size_t kMostFiles = 100;

fs::path folder_of(const fs::path& project) { return log_dir(project) / "metrics"; }

bool is_whole(int fd) {
    struct stat info {};
    std::uint64_t magic = 0;
    return ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size == static_cast<off_t>(kBytes) &&
           ::pread(fd, &magic, sizeof magic, 0) == sizeof magic && magic == kMagic;
}

OwnedFd open_file(const fs::path& path, int access) {
    return OwnedFd(::open(path.c_str(), access | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

/// A file with room for all counts, at once or not at all. Of two programs that make it the first one wins.
void make_file(const fs::path& path, mode_t mode) {
    const fs::path half = path.string() + "." + std::to_string(::getpid());
    ::unlink(half.c_str());
    const OwnedFd fd(::open(half.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (fd.get() < 0) return;
    const bool made = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(kBytes)) == 0 &&
                      ::pwrite(fd.get(), &kMagic, sizeof kMagic, 0) == sizeof kMagic && ::fchmod(fd.get(), mode) == 0;
    if (made) [[maybe_unused]]
        const int linked = ::link(half.c_str(), path.c_str());
    ::unlink(half.c_str());
}

/// The project's account: a file that can be used is there afterwards, if one can be made.
void provide(const fs::path& path, mode_t mode) {
    const OwnedFd there = open_file(path, O_RDONLY);
    if (there.get() >= 0 && is_whole(there.get())) return;
    if (there.get() >= 0 || errno != ENOENT) ::unlink(path.c_str());
    make_file(path, mode);
}

/// A folder that only its account can have put there, or make files in.
bool is_private(const fs::path& folder, uid_t owner) {
    struct stat info {};
    return ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == owner &&
           (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// A folder just made, for a program whose umask hides it from the web server's group.
bool open_to_group(const fs::path& folder) {
    struct stat info {};
    // By descriptor: who may write into log_HOST may have put a link there meanwhile.
    const OwnedFd fd = open_file(folder, O_RDONLY | O_DIRECTORY);
    if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0) return false;
    // Left alone where it is right: who is not of the group would take the set-group-id bit away.
    return (info.st_mode & 0777) == 0750 || ::fchmod(fd.get(), (info.st_mode & S_ISGID) | 0750) == 0;
}

/// Is this process of the account whose project it is?
bool owns(const fs::path& project) {
    struct stat root {};
    return ::stat(project.c_str(), &root) == 0 && root.st_uid == ::geteuid();
}

}  // namespace

Image* map(const fs::path& project, std::string_view program) {
    const fs::path folder = folder_of(project);
    const bool own = owns(project);
    const fs::path path = folder / ((own ? std::string(program) : kWeb) + kSuffix);
    if (own) {
        // The set-group-id bit of log_HOST hands its group on, which is the web server's.
        if (::mkdir(folder.c_str(), 0750) != 0) {
            if (errno != EEXIST) return nullptr;
        } else if (!open_to_group(folder)) {
            return nullptr;
        }
        if (!is_private(folder, ::geteuid())) return nullptr;
        provide(path, kOwnMode);
        provide(folder / (std::string(kWeb) + kSuffix), kWebMode);
    }
    const OwnedFd fd = open_file(path, O_RDWR);
    if (fd.get() < 0 || !is_whole(fd.get())) return nullptr;
    void* const at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (at == MAP_FAILED) return nullptr;
    // Guarded as long as the mapping is there: other threads may count while the process ends, so nothing destroys
    // them.
    static auto& guards = *new std::array<std::unique_ptr<BusGuard>, 8>;
    for (auto& guard : guards) {
        if (guard) continue;
        guard = std::make_unique<BusGuard>(at, kBytes);
        return static_cast<Image*>(at);
    }
    ::munmap(at, kBytes);
    return nullptr;
}

namespace {

bool is_program_name(std::string_view name) {
    return !name.empty() && name.size() <= 64 &&
           name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string_view::npos;
}

ProgramMetrics read_file(const fs::path& path, std::string program) {
    // Read, not mapped: what is cut meanwhile is short, and no signal.
    std::vector<std::uint64_t> words(kBytes / sizeof(std::uint64_t));
    const OwnedFd fd = open_file(path, O_RDONLY);
    const bool whole = fd.get() >= 0 && is_whole(fd.get());
    const int error = errno;
    if (!whole || ::pread(fd.get(), words.data(), kBytes, 0) != static_cast<ssize_t>(kBytes))
        throw std::runtime_error(path.string() + ": " +
                                 (fd.get() < 0 ? std::strerror(error) : "is no file of counts; it counts nothing"));
    ProgramMetrics read{std::move(program), {}, words[1]};
    for (std::size_t i = 1; i <= kEntries; ++i)
        if (words[2 * i] != 0) read.cells.push_back(cell_of(words[2 * i], words[2 * i + 1]));
    return read;
}

}  // namespace
}  // namespace metric_file

MetricFiles read_metrics(const fs::path& project) noexcept {
    using namespace metric_file;
    MetricFiles all;
    std::error_code error;
    const fs::path folder = folder_of(project);
    struct stat root {};
    const bool there = fs::exists(folder, error);
    if (there && (::stat(project.c_str(), &root) != 0 || !is_private(folder, root.st_uid))) {
        all.problems.push_back(folder.string() + " is not the project account's own folder; remove it");
        return all;
    }
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        const std::string program = it->path().stem().string();
        if (it->path().extension() != kSuffix || !is_program_name(program)) continue;
        if (all.programs.size() + all.problems.size() >= kMostFiles) break;
        try {
            all.programs.push_back(metric_file::read_file(it->path(), program));
        } catch (const std::exception& e) {
            all.problems.emplace_back(e.what());
        }
    }
    std::ranges::sort(all.programs, {}, &ProgramMetrics::program);
    return all;
}

}  // namespace sluice
