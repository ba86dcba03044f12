// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/adopt/program_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "config/run/own_programs.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"

namespace sluice {
namespace {

/// config.xml twice, the files of start and stop, some lines of logs.
constexpr off_t kReserve = 4 << 20;

/// Of folders that make_project put there to keep BOINC's tools/upgrade out.
void remove_upgrade_blocks(const fs::path& cgi_bin) {
    for (const char* name : {"cgi.old", "file_upload_handler.old"}) {
        std::error_code ignored;
        if (!fs::is_directory(fs::symlink_status(cgi_bin / name, ignored))) continue;
        fs::remove(cgi_bin / name / "README", ignored);
        fs::remove(cgi_bin / name, ignored);  // stays if somebody put a file there
        if (is_there(cgi_bin / (std::string(name) + ".saved")))
            fs::rename(cgi_bin / (std::string(name) + ".saved"), cgi_bin / name, ignored);
    }
}

std::uintmax_t size_of(const fs::path& file) {
    std::error_code none;
    const auto size = fs::file_size(file, none);
    return none ? 0 : size;
}

/// What file systems keep beside a file: access lists, capabilities, labels, notes. A copy without the first two may
/// not serve as the old one did; of the others nothing depends that this account could lose.
void copy_beside(const fs::path& from, const fs::path& to) {
    copy_access_list(from, to);
    std::string names(std::size_t{1} << 16, '\0');
    const ssize_t n = ::listxattr(from.c_str(), names.data(), names.size());
    names.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    for (const std::string_view part : split(names, '\0')) {
        const std::string name(part);
        if (name.empty() || name.starts_with("system.posix_acl")) continue;
        std::string value(std::size_t{1} << 16, '\0');
        const ssize_t size = ::getxattr(from.c_str(), name.c_str(), value.data(), value.size());
        const bool done =
            size >= 0 && ::setxattr(to.c_str(), name.c_str(), value.data(), static_cast<std::size_t>(size), 0) == 0;
        if (!done && name == "security.capability")
            throw FileError(
                fmt::format("{} has capabilities, which this account can't give to a copy. Take them away, "
                            "as root: setcap -r {}",
                            from.string(), shell_quoted(from.string())));
    }
}

}  // namespace

MovedPrograms moved_programs(const fs::path& project, const fs::path& prefix, bool all) {
    if (!all) return {{kReplaced.begin(), kReplaced.end()}, {kNew.begin(), kNew.end()}};
    MovedPrograms programs{{}, programs_in(prefix)};
    if (is_there(project / "cgi-bin/fcgi")) programs.added.emplace_back("cgi-bin/fcgi");
    return programs;
}

bool is_there(const fs::path& file) {
    std::error_code ignored;
    return fs::exists(fs::symlink_status(file, ignored));
}

void require(bool done, const std::string& what, const fs::path& file) {
    if (!done) throw FileError(fmt::format("{} {}: {}", what, file.string(), file_problem(errno, file)));
}

/// A power cut after the rename would leave an empty program.
static void sync_file(const fs::path& file) {
    const OwnedFd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    require(opened.get() >= 0 && ::fsync(opened.get()) == 0, "Can't write", file);
}

void copy_over(const fs::path& from, const fs::path& to) {
    const fs::path half = to.parent_path() / ("." + to.filename().string() + ".sluice_new");
    std::error_code error;
    fs::remove(half, error);
    fs::copy(from, half, fs::copy_options::copy_symlinks, error);
    if (error) throw FileError(fmt::format("Can't copy {} to {}: {}", from.string(), half.string(), error.message()));
    struct stat old {};
    if (::lstat(from.c_str(), &old) == 0 && S_ISREG(old.st_mode)) {
        const std::array<timespec, 2> times{old.st_atim, old.st_mtim};
        require(::utimensat(AT_FDCWD, half.c_str(), times.data(), 0) == 0, "Can't set the time of", half);
        // The web server's account may run it by its group only. A change of group takes setuid and setgid away.
        if (::lchown(half.c_str(), static_cast<uid_t>(-1), old.st_gid) == 0)
            require(::chmod(half.c_str(), old.st_mode & 07777) == 0, "Can't set the mode of", half);
        copy_beside(from, half);
        sync_file(half);
    }
    require(::rename(half.c_str(), to.c_str()) == 0, "Can't replace", to);
    sync_folder(to.parent_path());
}

void move_over(const fs::path& from, const fs::path& to) {
    if (::rename(from.c_str(), to.c_str()) == 0) {
        sync_folder(to.parent_path());  // first: else a power cut could lose both names
        return sync_folder(from.parent_path());
    }
    require(errno == EXDEV, "Can't replace", to);
    copy_over(from, to);
    fs::remove(from);
}

/// What is not kept any more is back already, if a call before did that.
void put_programs_back(const fs::path& kept, const fs::path& project, const MovedPrograms& programs) {
    std::vector<fs::path> ours;  // before any goes: some are links to others
    for (const std::string& name : programs.added)
        if (!is_web_program(name) && !is_there(kept / name) && is_ours(project / name)) ours.push_back(project / name);
    for (const auto& names : {programs.replaced, programs.added})
        for (const std::string& name : names)
            if (!is_web_program(name) && is_there(kept / name)) move_over(kept / name, project / name);
    for (const fs::path& file : ours) fs::remove(file);
}

void put_web_programs_back(const fs::path& kept, const fs::path& project) {
    for (const char* name : kWebPrograms)
        if (is_there(kept / name)) move_over(kept / name, project / name);
    remove_upgrade_blocks(project / "cgi-bin");
}

bool is_web_program(std::string_view name) { return std::ranges::find(kWebPrograms, name) != kWebPrograms.end(); }

void remove_halves(const fs::path& folder, std::string_view part) {
    std::error_code ignored;
    std::vector<fs::path> halves;
    for (const auto& entry : fs::directory_iterator(folder, ignored))
        if (const std::string name = entry.path().filename(); name[0] == '.' && name.find(part) != name.npos)
            halves.push_back(entry.path());
    for (const fs::path& half : halves) fs::remove(half, ignored);
}

/// A program of ours lies beside the old one until the rename.
std::uintmax_t room_for_move(const fs::path& project, const fs::path& prefix, const MovedPrograms& programs) {
    auto room = static_cast<std::uintmax_t>(2 * kReserve);
    for (const std::string& name : programs.replaced)
        if (is_there(project / name)) room += size_of(project / name) + size_of(prefix / name);
    for (const std::string& name : programs.added) room += size_of(project / name) + size_of(prefix / name);
    return room;
}

/// Who is named in the old log's access list keeps what he may; group and owner may write, as without a list.
static void keep_names_of_list(const fs::path& log, const fs::path& half, mode_t others) {
    constexpr const char* kList = "system.posix_acl_access";
    struct Entry {
        std::uint16_t tag, rights;
        std::uint32_t id;
    };
    constexpr std::uint16_t kNamedUser = 2, kNamedGroup = 8, kMask = 16, kOthers = 32;
    std::string list(std::size_t{1} << 16, '\0');
    const ssize_t size = ::getxattr(log.c_str(), kList, list.data(), list.size());
    if (size <= 0) return;
    list.resize(static_cast<std::size_t>(size));
    constexpr std::size_t kHead = sizeof(std::uint32_t);
    std::vector<Entry> entries((list.size() - kHead) / sizeof(Entry));
    std::memcpy(entries.data(), list.data() + kHead, entries.size() * sizeof(Entry));
    std::uint16_t mask = 7;
    for (const Entry& e : entries)
        if (e.tag == kMask) mask = e.rights;
    for (Entry& e : entries) {
        if (e.tag == kNamedUser || e.tag == kNamedGroup)
            e.rights &= mask;  // the mask grows below
        else
            e.rights = e.tag == kOthers ? static_cast<std::uint16_t>(others) : 6;
    }
    std::memcpy(list.data() + kHead, entries.data(), entries.size() * sizeof(Entry));
    require(::setxattr(half.c_str(), kList, list.data(), list.size(), 0) == 0, "Can't set the access control list of",
            half);
}

/// What is to be the new log; empty: the old one can stay.
static fs::path half_of_log(const fs::path& folder) {
    const fs::path log = folder / kWebLogs[0], half = folder / ("." + std::string(kWebLogs[0]) + ".sluice_new");
    struct stat old {
    }, around{};
    if (::lstat(log.c_str(), &old) != 0) return {};
    if (old.st_uid == ::geteuid() && ::access(log.c_str(), W_OK) == 0) return {};
    require(::stat(folder.c_str(), &around) == 0, "Can't look at", folder);
    std::error_code ignored;
    fs::remove(half, ignored);
    const OwnedFd made(::open(half.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    require(made.get() >= 0, "Can't make", half);
    const auto give_to = [&](gid_t group) { return ::fchown(made.get(), static_cast<uid_t>(-1), group) == 0; };
    const mode_t others = (around.st_mode & S_IWOTH) != 0 ? 0006 : 0;  // who made the old one may need them
    const bool by_folder = (around.st_mode & S_IWGRP) != 0;
    if (!give_to(old.st_gid) && !(by_folder && give_to(around.st_gid)) && others == 0) {
        fs::remove(half, ignored);
        throw FileError(fmt::format(
            "The web server's account writes {}, which has the group {}. This account cannot give that group to a new "
            "one. As root: usermod -aG {} {}, then call this from a new session",
            log.string(), group_name(old.st_gid), group_name(old.st_gid), user_name(::geteuid())));
    }
    require(::fchmod(made.get(), 0660 | others) == 0, "Can't set the mode of", half);
    try {
        keep_names_of_list(log, half, others);
    } catch (...) {
        fs::remove(half, ignored);
        throw;
    }
    return half;
}

void share_log(const fs::path& folder) {
    const fs::path half = half_of_log(folder), log = folder / kWebLogs[0];
    if (half.empty()) return;
    require(::rename(log.c_str(), (log.string() + ".before_sluice").c_str()) == 0, "Can't move away", log);
    require(::rename(half.c_str(), log.c_str()) == 0, "Can't make", log);
}

void require_shareable_log(const fs::path& folder) {
    if (const fs::path half = half_of_log(folder); !half.empty()) fs::remove(half);
}

std::uintmax_t free_room(const fs::path& folder) {
    struct statvfs info {};
    require(::statvfs(folder.c_str(), &info) == 0, "Can't ask for the room of", folder);
    return static_cast<std::uintmax_t>(info.f_bavail) * info.f_frsize;
}

void make_reserve(const fs::path& file) {
    const OwnedFd made(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    require(made.get() >= 0, "Can't make", file);
    errno = ::posix_fallocate(made.get(), 0, kReserve);
    require(errno == 0, "Can't reserve room in", file);
}

}  // namespace sluice
