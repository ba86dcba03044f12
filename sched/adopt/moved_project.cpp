// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/adopt/moved_project.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/load.h"
#include "config/run/process_lock.h"
#include "config/run/run_state.h"
#include "sched/adopt/program_files.h"
#include "sched/adopt/statements.h"
#include "sched/tee/installed_tee.h"
#include "sluice/base/error.h"
#include "sluice/base/process.h"
#include "sluice/base/project.h"
#include "sluice/base/users.h"

namespace sluice {
namespace {

constexpr std::size_t kLongestAnswer = 1 << 20;
constexpr const char* kMoveLock = "sluice_move.lock";
constexpr const char* kAnotherMove =
    "Another 'sluice adopt', 'sluice revert' or 'sluice canary' of this project is running: wait for its end";
/// Beside config.xml, while it is written: it holds a password.
constexpr const char* kHalfConfig = ".config.xml.sluice_new";

/// Then it does not matter which group that is.
bool group_is_as_others(const struct stat& info) { return ((info.st_mode >> 3) & 7) == (info.st_mode & 7); }

void refuse_tee(const fs::path& project) {
    if (tee::is_tee(project / "cgi-bin/cgi"))
        throw ConfigError(fmt::format("sluice shadow --tee looks at {}: end it, or call: {}", project.string(),
                                      sluice_command("shadow --remove_tee", project)));
}

}  // namespace

std::string MovedProject::config_text() const {
    const fs::path file = folder_ / "config.xml";
    const auto text = read_file(file);
    if (!text) throw ConfigError(file.string() + " does not exist: name the project's folder");
    return *text;
}

void MovedProject::write_config(const std::string& text) const {
    if (text == config_text()) return;
    const fs::path file = fs::canonical(folder_ / "config.xml"), half = file.parent_path() / kHalfConfig;
    struct stat old {};
    require(::stat(file.c_str(), &old) == 0, "Can't look at", file);
    write_file_atomically(half, text, static_cast<int>(old.st_mode & 07700));
    require(::chown(half.c_str(), static_cast<uid_t>(-1), old.st_gid) == 0 || group_is_as_others(old),
            "Can't set the group of", half);
    require(::chmod(half.c_str(), old.st_mode & 07777) == 0, "Can't set the mode of", half);
    copy_access_list(file, half);
    require(::rename(half.c_str(), file.c_str()) == 0, "Can't replace", file);
    sync_folder(file.parent_path());
}

void MovedProject::require_group_of_config() const {
    const fs::path file = fs::canonical(folder_ / "config.xml"), half = file.parent_path() / kHalfConfig;
    struct stat old {};
    require(::stat(file.c_str(), &old) == 0, "Can't look at", file);
    write_file_atomically(half, "", 0600);
    const bool can = ::chown(half.c_str(), static_cast<uid_t>(-1), old.st_gid) == 0 || group_is_as_others(old);
    std::error_code ignored;
    fs::remove(half, ignored);
    if (!can)
        throw ConfigError(fmt::format(
            "Nothing was changed: {} has the group {}, which this account cannot give to the new one. As root: "
            "usermod -aG {} {}, then call this from a new session",
            file.string(), group_name(old.st_gid), group_name(old.st_gid), user_name(::geteuid())));
}

void MovedProject::remove_half_config() const {
    remove_halves(fs::canonical(folder_ / "config.xml").parent_path(), kHalfConfig);
}

bool MovedProject::is_enabled() const {
    return read_run_state(folder_ / fmt::format("run_state_{}.xml", short_host_name())).enabled;
}

ProjectConfig MovedProject::config() const { return load_config_file(folder_ / "config.xml", folder_).config; }

HostFolders MovedProject::folders() const { return host_folders(config(), short_host_name()); }

ConfiguredPrograms MovedProject::programs(const HostFolders& folders) const {
    const fs::path file = folder_ / "config.xml";
    return configured_programs(parse_daemons_and_tasks(config_text(), file.string()), config(), folders);
}

void MovedProject::require_possible(const std::string& command) const {
    config_text();
    refuse_root(command, folder_);
    struct stat info {};
    require(::stat(folder_.c_str(), &info) == 0, "Can't look at", folder_);
    if (info.st_uid != ::geteuid())
        throw ConfigError(
            fmt::format("{} belongs to {}: run this as that account", folder_.string(), user_name(info.st_uid)));
    refuse_tee(folder_);
    for (const char* name : {"bin/start", "bin/stop"})
        if (!is_there(folder_ / name))
            throw ConfigError(
                fmt::format("{} is missing: the move stops and starts the project with it", (folder_ / name).string()));
    for (const char* name : {"bin", "cgi-bin"})
        if (fs::is_symlink(folder_ / name))
            throw ConfigError(
                fmt::format("{} is a link, and what it leads to may be of others, too: put a folder with "
                            "a copy of the programs there",
                            (folder_ / name).string()));
    if (const ConfiguredPrograms list = programs(folders()); !list.other_hosts.empty())
        throw ConfigError(fmt::format(
            "Nothing was changed: config.xml has daemons on other machines, too ({}), and this would stop only those of "
            "{}. Stop all, and follow docs/install.md by hand",
            fmt::join(list.other_hosts, ", "), short_host_name()));
}

FileLock MovedProject::begin_move() const {
    FileLock lock = lock_programs();
    refuse_tee(folder_);  // again: now none can come
    return lock;
}

FileLock MovedProject::lock_programs() const {
    const fs::path folder = folders().pid;
    fs::create_directories(folder);
    auto lock = FileLock::try_lock(folder / kMoveLock);
    if (!lock) throw Error(kAnotherMove);
    return std::move(*lock);
}

void MovedProject::require_no_move() const {
    if (is_locked(folders().pid / kMoveLock)) throw Error(kAnotherMove);
}

std::string MovedProject::silence(const std::string& program, const fs::path& scratch, double limit) const {
    const fs::path file = scratch / "answer";
    const std::string command =
        "cd \"$1\"/cgi-bin && REQUEST_METHOD=POST CONTENT_LENGTH=0 exec \"$3\" < /dev/null > \"$2\" 2> /dev/null";
    const int status = run_quietly({"/bin/sh", "-c", command, "sh", folder_.string(), file.string(), program}, limit);
    const std::string said = read_file(file, kLongestAnswer).value_or("");
    fs::remove(file);
    const std::string name = (fs::path("cgi-bin") / program).lexically_normal();
    if (status == kScriptTimedOut) return fmt::format("{} did not answer within {:.0f} s", name, limit);
    if (said.find("<scheduler_reply>") == said.npos || said.find("</scheduler_reply>") == said.npos)
        return name + " answers no scheduler's reply";
    if (said.find("<project_is_down/>") != said.npos) return name + " answers that the project is down";
    return {};
}

}  // namespace sluice
