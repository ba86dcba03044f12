// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/run/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config/run/command_words.h"
#include "sluice/base/error.h"
#include "sluice/base/own_host.h"
#include "sluice/base/text.h"

namespace sluice {
namespace fs = std::filesystem;
namespace {

template <typename Entry>
RunEntry basic_job(const Entry& entry, const RunFolders& folders, bool is_task) {
    RunEntry job;
    job.cmd = entry.cmd;
    job.disabled = entry.disabled;
    job.use_shell = entry.use_shell;
    try {
        job.words = command_words(entry.cmd);
    } catch (const ConfigError& error) {
        job.problem = error.what();
        return job;
    }
    job.name = program_name(job.words);
    const bool own_output = !entry.output.empty() && !entry.output.starts_with("/dev/");
    job.output = folders.log / (entry.output.empty() ? job.name + (is_task ? ".out" : ".log") : entry.output);
    const std::string lock_base = own_output ? entry.output : job.name;
    const std::string lock_name = entry.lock_file.empty() ? lock_base + ".lock" : entry.lock_file;
    job.lock_file = folders.pid / lock_name;
    job.place = guard_place(lock_name, is_task);
    if (job.words.empty()) {
        job.problem = "<cmd> is empty";
    } else if (!job.use_shell && needs_shell(job.words)) {
        job.problem = "it holds a pipe or a redirection: add <use_shell>1</use_shell>";
    }
    return job;
}

RunEntry daemon_job(const DaemonEntry& entry, const RunFolders& folders) {
    RunEntry job = basic_job(entry, folders, false);
    job.silent_start = entry.silent_start;
    job.pid_file = folders.pid / (entry.pid_file.empty() ? job.name + ".pid" : entry.pid_file);
    return job;
}

RunEntry task_job(const TaskEntry& entry, const RunFolders& folders) {
    RunEntry job = basic_job(entry, folders, true);
    job.period = entry.period;
    if (job.problem.empty() && job.period <= 0)
        job.problem = "its <period> must be a number above 0 and a unit, as in '6 hours'";
    job.always_run = entry.always_run;
    return job;
}

bool is_active(const RunEntry& job) { return !job.disabled && job.problem.empty(); }

void resolve_collisions(RunList& jobs) {
    std::map<fs::path, const RunEntry*> lock_owners;
    std::map<fs::path, const RunEntry*> pid_owners;
    const auto refuse_shared_lock = [&](RunEntry& job) {
        const auto [owner, first] = lock_owners.try_emplace(job.lock_file, &job);
        if (first) return;
        job.problem = fmt::format(
            "it would share the lock file {} with '{}' and never run: give each its own <output> (or "
            "<lock_file>)",
            job.lock_file.filename().string(), owner->second->cmd);
    };
    for (RunEntry& job : jobs.daemons) {
        if (is_active(job)) refuse_shared_lock(job);
        if (!is_active(job)) continue;
        if (!pid_owners.try_emplace(job.pid_file, &job).second) {
            job.pid_file = job.lock_file.parent_path() / (job.lock_file.stem().string() + ".pid");
            pid_owners.try_emplace(job.pid_file, &job);
        }
    }
    // Tasks come and go: two that share a lock take turns, only a daemon would keep a task out for ever.
    for (RunEntry& job : jobs.tasks) {
        if (is_active(job) && lock_owners.contains(job.lock_file)) refuse_shared_lock(job);
    }
}

}  // namespace

std::string shell_line(const RunEntry& job) {
    // A signal must reach what the shell runs, which shares its process group.
    return "trap \"kill 0\" INT QUIT HUP TERM; " + job.cmd + "& wait";
}

bool same_host(const std::string& a, const std::string& b) {
    const std::string x = to_lower_ascii(a), y = to_lower_ascii(b);
    const bool address = x.find_first_not_of("0123456789.") == x.npos || x.find(':') != x.npos;
    const auto is_short_of = [](const std::string& name, const std::string& full) {
        return full.size() > name.size() && full.starts_with(name) && full[name.size()] == '.';
    };
    return x == y || (!address && (is_short_of(x, y) || is_short_of(y, x)));
}

bool is_this_host(const std::string& name, const RunFolders& folders) {
    return is_loopback_name(name) || same_host(name, folders.host) || is_own_address(name);
}

RunFolders run_folders(const ProjectConfig& config, const std::string& host) {
    RunFolders folders;
    folders.host = host;
    folders.project = config.project_dir;
    folders.bin = config.bin_dir;
    const auto folder = [&](const std::string& kind) -> fs::path {
        const std::string name = kind + "_" + host;
        const auto moved = config.host_dirs.find(name + "_dir");
        return folders.project / (moved == config.host_dirs.end() ? name : moved->second);
    };
    folders.tmp = folder("tmp");
    folders.log = folder("log");
    folders.pid = folder("pid");
    folders.guard = folders.project / ("run_lock_" + host);
    return folders;
}

RunList list_jobs(const DaemonsAndTasks& entries, const ProjectConfig& config, const RunFolders& folders) {
    RunList jobs;
    const auto runs_here = [&](const std::string& given) {
        // What a machine calls itself is the main one: others that run `start` on their own read it, too.
        const std::string& host = given.empty() || is_loopback_name(given) ? config.host : given;
        if (is_this_host(host, folders)) return true;
        if (std::ranges::find(jobs.other_hosts, host) == jobs.other_hosts.end()) jobs.other_hosts.push_back(host);
        return false;
    };
    for (const DaemonEntry& entry : entries.daemons) {
        if (runs_here(entry.host)) jobs.daemons.push_back(daemon_job(entry, folders));
    }
    for (const TaskEntry& entry : entries.tasks) {
        if (runs_here(entry.host)) jobs.tasks.push_back(task_job(entry, folders));
    }
    resolve_collisions(jobs);
    return jobs;
}

}  // namespace sluice
