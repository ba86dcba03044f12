// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/run/stop.h"

#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <thread>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

std::vector<fs::path> files_with_suffix(const fs::path& folder, const std::string& suffix) {
    std::vector<fs::path> files;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
        if (entry.path().extension() == suffix) files.push_back(entry.path());
    }
    std::ranges::sort(files);
    return files;
}

struct HeldLock {
    std::string name;        ///< for messages
    bool of_daemon = false;  ///< a daemon of config.xml owns it, or the guard says so; else it may be a task's
};

/// What runs although its lock file is gone.
void add_guarded(const RunFolders& folders, const RunList& jobs, std::map<pid_t, HeldLock>& holders) {
    for (const auto& [place, pid] : guard_holders(folders.guard)) {
        if (!is_daemons_place(place) || holders.contains(pid)) continue;
        const auto job = std::ranges::find(jobs.daemons, place, &RunEntry::place);
        holders[pid] = {job == jobs.daemons.end() ? "a daemon that is no longer in config.xml" : job->name, true};
    }
}

/// Of all locks in the folder, and of those that config.xml puts elsewhere; tasks of config.xml are left out.
/// `tell`: of files that can't be asked about.
std::map<pid_t, HeldLock> lock_holders(const RunFolders& folders, const RunList& jobs, bool tell) {
    std::map<fs::path, bool> locks;  // true: a daemon's
    for (const fs::path& file : files_with_suffix(folders.pid, ".lock")) locks[file] = false;
    for (const RunEntry& job : jobs.tasks) locks.erase(job.lock_file);
    for (const RunEntry& job : jobs.daemons) {
        if (!job.name.empty()) locks[job.lock_file] = true;
    }
    std::map<pid_t, HeldLock> holders;
    for (const auto& [file, of_daemon] : locks) {
        try {
            if (const auto holder = lock_holder(file)) holders[*holder] = {file.stem().string(), of_daemon};
        } catch (const FileError& error) {  // another account's: the others have to be stopped all the same
            if (tell) fmt::print(stderr, "{}\nGoing on without it\n", error.what());
        }
    }
    add_guarded(folders, jobs, holders);
    return holders;
}

pid_t read_pid(const fs::path& file) {
    // Whoever may write in the folder could keep us waiting for what nobody writes into a pipe.
    if (std::error_code ignored; !fs::is_regular_file(fs::symlink_status(file, ignored))) return 0;
    try {
        const auto text = read_file(file, 4096);
        const auto pid = text && !trim(*text).empty() ? parse_int(trim(*text)) : std::nullopt;
        return pid && *pid > 0 && *pid <= 0x7fffffff ? static_cast<pid_t>(*pid) : 0;
    } catch (const FileError&) {
        return 0;
    }
}

/// Pid files of the folder, and those that config.xml puts elsewhere, by the pid in them; 0: unreadable.
std::map<pid_t, std::vector<fs::path>> pid_files(const RunFolders& folders, const RunList& jobs) {
    std::set<fs::path> files;
    for (const fs::path& file : files_with_suffix(folders.pid, ".pid")) files.insert(file);
    for (const RunEntry& job : jobs.daemons) {
        std::error_code ignored;
        if (!job.name.empty() && fs::exists(job.pid_file, ignored)) files.insert(job.pid_file);
    }
    std::map<pid_t, std::vector<fs::path>> by_pid;
    for (const fs::path& file : files) by_pid[read_pid(file)].push_back(file);
    return by_pid;
}

}  // namespace

PidFolder find_running(const RunFolders& folders, const RunList& jobs) {
    PidFolder found;
    auto files = pid_files(folders, jobs);
    std::map<pid_t, ProcessHandle> handles;
    for (const auto& [pid, lock] : lock_holders(folders, jobs, true)) {
        if (auto handle = ProcessHandle::open(pid)) handles.emplace(pid, std::move(*handle));
    }
    // Only now the proof: what holds a lock while a handle is on it can't be a later process of the same
    // number.
    for (const auto& [pid, lock] : lock_holders(folders, jobs, false)) {
        const auto handle = handles.find(pid);
        if (handle == handles.end()) continue;
        // Only daemons have pid files: without one it is a task that is no longer in config.xml.
        if (!lock.of_daemon && !files.contains(pid)) continue;
        found.running.push_back({std::move(handle->second), lock.name, std::move(files[pid])});
        files.erase(pid);
    }
    for (const auto& [pid, stale] : files) found.stale.insert(found.stale.end(), stale.begin(), stale.end());
    return found;
}

namespace {

/// Scripts look for a pid with kill -0, which still finds an ended process until init has reaped it.
void wait_until_reaped(const PidFolder& found) {
    const auto is_zombie = [](const RunningDaemon& daemon) {
        return daemon.handle.ended() && daemon.handle.send(0) == 0;
    };
    for (int i = 0; i < 50 && std::ranges::any_of(found.running, is_zombie); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

}  // namespace

StopOutcome stop_all(const PidFolder& found, double wait, bool verbose) {
    StopOutcome outcome;
    for (const RunningDaemon& daemon : found.running) {
        const int error = daemon.handle.send(SIGHUP);
        if (error == 0) ++outcome.signalled;
        if (error != 0 && error != ESRCH) {
            fmt::print(stderr, "Can't signal {} (pid {}): {}\n", daemon.name, daemon.handle.pid(),
                       std::strerror(error));
        } else if (verbose && error == 0) {
            fmt::print("  Told {} (pid {}) to stop\n", daemon.name, daemon.handle.pid());
        }
    }
    std::fflush(stdout);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(wait);
    const auto ended = [](const RunningDaemon& daemon) { return daemon.handle.ended(); };
    while (!std::ranges::all_of(found.running, ended) && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    wait_until_reaped(found);
    std::error_code ignored;
    for (const RunningDaemon& daemon : found.running) {
        if (!ended(daemon)) {
            outcome.still_running.push_back(fmt::format("{} (pid {})", daemon.name, daemon.handle.pid()));
            continue;
        }
        for (const fs::path& file : daemon.pid_files) fs::remove(file, ignored);
    }
    for (const fs::path& file : found.stale) fs::remove(file, ignored);
    return outcome;
}

}  // namespace sluice
