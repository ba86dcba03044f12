// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/project.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <system_error>
#include <utility>

#include "sluice/base/error.h"
#include "sluice/base/files.h"

namespace sluice {

namespace fs = std::filesystem;

std::filesystem::path find_project_dir() {
    std::error_code ignored;
    const auto holds_config = [&](const fs::path& dir) { return fs::exists(dir / "config.xml", ignored); };
    const char* given = std::getenv("BOINC_PROJECT_DIR");
    if (given != nullptr && *given != '\0') {
        if (holds_config(given)) return fs::canonical(given);
        throw ConfigError("BOINC_PROJECT_DIR is " + std::string(given) +
                          ", but there is no config.xml in it; set it to the project's root or unset it");
    }
    for (const char* dir : {".", ".."}) {
        if (holds_config(dir)) return fs::canonical(dir);
    }
    throw ConfigError("Not in a project directory: no config.xml in " + fs::current_path(ignored).string() +
                      " or its parent; go to the project's root or set BOINC_PROJECT_DIR");
}

std::string short_host_name() {
    char name[256] = {};
    if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
    const std::string full(name);
    return full.substr(0, full.find('.'));
}

std::filesystem::path log_dir(const std::filesystem::path& project) { return project / ("log_" + short_host_name()); }

void make_log_folder(const std::filesystem::path& project, uid_t user) {
    const std::filesystem::path folder = log_dir(project);
    struct stat root {
    }, upload{};
    if (::stat(project.c_str(), &root) != 0 || ::mkdir(folder.c_str(), 0750) != 0) return;
    const bool own = root.st_uid == user;
    const bool known = own && ::stat((project / "upload").c_str(), &upload) == 0;
    const OwnedFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    // Not every account may give files to every group.
    [[maybe_unused]] const int given = ::fchown(fd.get(), static_cast<uid_t>(-1), known ? upload.st_gid : root.st_gid);
    // Sticky: what one account puts there the other can't take away.
    [[maybe_unused]] const int set = ::fchmod(fd.get(), own ? 02750 : 01770);
    if (own) make_web_server_logs(fd.get());
}

void make_web_server_logs(int folder) {
    for (const char* name : kWebLogs) {
        const OwnedFd log(::openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0660));
        if (log.get() < 0) continue;
        struct stat owner {};
        // root may make them for the folder's owner.
        if (::geteuid() == 0 && ::fstat(folder, &owner) == 0 && ::fchown(log.get(), owner.st_uid, owner.st_gid) != 0)
            errno = 0;
        ::fchmod(log.get(), 0660);  // whatever the umask
    }
}

namespace {

constexpr TriggerFile kTriggers[] = {
    {.name = "stop_sched",
     .effect = "every client is told that the project is down for maintenance, and gets no jobs; remove it to go on",
     .stops_scheduler = true},
    {.name = "sluice_moving",
     .effect = "sluice adopt or revert runs, or was ended, and clients are told to come back in a minute; if it was "
               "ended, repeat that command",
     .stops_scheduler = true},
    {.name = "stop_daemons",
     .effect = "daemons stop, and do not start; remove it (bin/start --enable does) and start them",
     .stops_work = true},
    {.name = "stop_upload",
     .effect = "uploads are refused; clients try again later; remove it to go on",
     .stops_work = true},
    {.name = "reread_db",
     .effect = "the feeder reads apps and versions again and removes it; if it stays, the feeder does not run",
     .normal_age = 300},
    {.name = "relay_only",
     .effect = "cgi-bin/cgi leaves all requests to bin/scheduler; while that does not run clients come back later",
     .normal_age = std::numeric_limits<double>::infinity()},
    {.name = "log_levels", .effect = "it sets the log levels of daemons; remove it when done"},
    {.name = "debug_sched", .effect = "each host's last request and reply are kept in cgi-bin; remove it when done"},
};

}  // namespace

std::vector<TriggerFile> triggers_present(const std::filesystem::path& project) {
    std::vector<TriggerFile> present;
    std::error_code ignored;
    for (const TriggerFile& t : kTriggers)
        if (std::filesystem::exists(project / t.name, ignored)) present.push_back(t);
    return present;
}

void ask_feeder_to_reread(const std::filesystem::path& project) {
    write_file_atomically(project / "reread_db", "<reread_db/>\n");
}

std::string trigger_text(const TriggerFile& trigger) {
    return std::string(trigger.name) + " is present: " + trigger.effect;
}

void WatchedFiles::watch(std::vector<std::filesystem::path> files) {
    files_ = std::move(files);
    seen_ = fingerprints();
}

bool WatchedFiles::changed() {
    auto now = fingerprints();
    return std::exchange(seen_, now) != now;
}

std::vector<std::string> WatchedFiles::fingerprints() const {
    std::vector<std::string> all;
    for (const auto& file : files_) {
        struct stat s {};
        all.push_back(::stat(file.c_str(), &s) != 0
                          ? "absent"
                          : fmt::format("{} {} {}.{} {}.{}", s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec,
                                        s.st_ctim.tv_sec,
                                        s.st_ctim.tv_nsec));  // a new mode or owner moves only the latter
    }
    return all;
}

}  // namespace sluice
