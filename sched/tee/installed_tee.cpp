// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/tee/installed_tee.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "sched/tee/place.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/regular_file.h"
#include "sluice/base/users.h"

namespace sluice::tee {
namespace {

constexpr std::size_t kLongestTee = 16u << 20;

void require(bool done, const std::string& what, const fs::path& file) {
    if (!done) throw FileError(what + " " + file.string() + ": " + file_problem(errno, file));
}

bool is_there(const fs::path& file) {
    struct stat info {};
    return ::lstat(file.c_str(), &info) == 0;
}

/// A second name of the scheduler: of the link, where cgi-bin/cgi is one.
void keep(const fs::path& cgi, const fs::path& behind) {
    const fs::path half = cgi.parent_path() / ".cgi.sluice_tee_keeps";
    ::unlink(half.c_str());
    require(::linkat(AT_FDCWD, cgi.c_str(), AT_FDCWD, half.c_str(), 0) == 0, "Can't make another name for", cgi);
    require(::rename(half.c_str(), behind.c_str()) == 0, "Can't make", behind);
    ::unlink(half.c_str());  // both names of one file: then rename() does nothing
}

/// The web server's account may run the new file exactly if it may run the old one.
void give_rights(const OwnedFd& made, const fs::path& half, const fs::path& cgi, const struct stat& old) {
    if (::fchown(made.get(), static_cast<uid_t>(-1), old.st_gid) != 0) errno = 0;  // looked at below
    require(::fchmod(made.get(), old.st_mode & 0777) == 0, "Can't set the mode of", half);
    copy_access_list(cgi, half);
    struct stat now {};
    require(::fstat(made.get(), &now) == 0, "Can't look at", half);
    if ((old.st_mode & S_IXOTH) == 0 && (now.st_uid != old.st_uid || now.st_gid != old.st_gid))
        throw FileError(cgi.string() + " can be run by " + user_name(old.st_uid) + " and the group " +
                        group_name(old.st_gid) +
                        " only, and this account can't make such a file: make it this account's, "
                        "and join that group, or let all run it (chmod o+rx)");
}

/// Beside the old one, to be renamed.
void make_half(const fs::path& half, const fs::path& program, const fs::path& cgi, const struct stat& old) {
    const std::string bytes = read_regular_file(program, kLongestTee).value_or("");
    ::unlink(half.c_str());
    const OwnedFd made(::open(half.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    require(made.get() >= 0, "Can't make", half);
    try {
        require(write_all(made.get(), bytes), "Can't write", half);
        give_rights(made, half, cgi, old);
        require(::fsync(made.get()) == 0, "Can't write", half);
    } catch (...) {
        ::unlink(half.c_str());
        throw;
    }
}

}  // namespace

bool is_tee(const fs::path& file) {
    struct stat info {};
    if (::stat(file.c_str(), &info) != 0 || info.st_size > static_cast<off_t>(kLongestTee)) return false;
    const std::string text = read_regular_file(file, kLongestTee).value_or("");
    return text.starts_with("\177ELF") && text.find(std::string(kMark[0]) + std::string(kMark[1])) != std::string::npos;
}

void install(const fs::path& project, const fs::path& program) {
    const fs::path cgi = project / "cgi-bin/cgi", behind = project / "cgi-bin" / kBehind;
    const fs::path half = project / "cgi-bin/.cgi.sluice_tee";
    if (!is_tee(program)) throw Error(program.string() + " is missing, or not the program that this Sluice came with");
    struct stat old {};
    require(::stat(cgi.c_str(), &old) == 0, "Can't look at", cgi);
    if (fs::is_symlink(project / "cgi-bin"))
        throw Error((project / "cgi-bin").string() +
                    " is a link, and other projects may be served from where it leads: put a folder with a copy there");
    if (is_tee(cgi) && !is_there(behind))
        throw Error(cgi.string() + " is the tee, and " + behind.string() +
                    " is missing: put BOINC's scheduler back as cgi");
    make_half(half, program, cgi, old);
    if (!is_tee(cgi)) keep(cgi, behind);
    require(::rename(half.c_str(), cgi.c_str()) == 0, "Can't replace", cgi);
}

bool remove(const fs::path& project) {
    const fs::path folder = project / "cgi-bin", cgi = folder / "cgi", behind = folder / kBehind;
    for (const char* rest : {".cgi.sluice_tee", ".cgi.sluice_tee_keeps"}) ::unlink((folder / rest).c_str());
    if (!is_there(behind)) {
        if (is_tee(cgi))
            throw Error(cgi.string() + " is the tee, and " + behind.string() +
                        " is missing: put BOINC's scheduler back as cgi");
        return false;
    }
    if (is_tee(cgi))
        require(::rename(behind.c_str(), cgi.c_str()) == 0, "Can't put back", cgi);
    else
        require(::unlink(behind.c_str()) == 0, "Can't remove", behind);  // cgi is a newer one, or the same
    return true;
}

}  // namespace sluice::tee
