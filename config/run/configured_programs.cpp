// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/run/configured_programs.h"

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
ConfiguredProgram basic_job(const Entry& entry, const HostFolders& folders, bool is_task) {
    ConfiguredProgram program;
    program.cmd = entry.cmd;
    program.disabled = entry.disabled;
    program.use_shell = entry.use_shell;
    try {
        program.words = command_words(entry.cmd);
    } catch (const ConfigError& error) {
        program.problem = error.what();
        return program;
    }
    program.name = program_name(program.words);
    const bool own_output = !entry.output.empty() && !entry.output.starts_with("/dev/");
    program.output = folders.log / (entry.output.empty() ? program.name + (is_task ? ".out" : ".log") : entry.output);
    const std::string lock_base = own_output ? entry.output : program.name;
    const std::string lock_name = entry.lock_file.empty() ? lock_base + ".lock" : entry.lock_file;
    program.lock_file = folders.pid / lock_name;
    program.place = guard_place(lock_name, is_task);
    if (program.words.empty()) {
        program.problem = "<cmd> is empty";
    } else if (!program.use_shell && needs_shell(program.words)) {
        program.problem = "it holds a pipe or a redirection: add <use_shell>1</use_shell>";
    }
    return program;
}

ConfiguredProgram daemon_job(const DaemonEntry& entry, const HostFolders& folders) {
    ConfiguredProgram program = basic_job(entry, folders, false);
    program.silent_start = entry.silent_start;
    program.pid_file = folders.pid / (entry.pid_file.empty() ? program.name + ".pid" : entry.pid_file);
    return program;
}

ConfiguredProgram task_job(const TaskEntry& entry, const HostFolders& folders) {
    ConfiguredProgram program = basic_job(entry, folders, true);
    program.period = entry.period;
    if (program.problem.empty() && program.period <= 0)
        program.problem = "its <period> must be a number above 0 and a unit, as in '6 hours'";
    program.always_run = entry.always_run;
    return program;
}

bool is_active(const ConfiguredProgram& program) { return !program.disabled && program.problem.empty(); }

void resolve_collisions(ConfiguredPrograms& programs) {
    std::map<fs::path, const ConfiguredProgram*> lock_owners;
    std::map<fs::path, const ConfiguredProgram*> pid_owners;
    const auto refuse_shared_lock = [&](ConfiguredProgram& program) {
        const auto [owner, first] = lock_owners.try_emplace(program.lock_file, &program);
        if (first) return;
        program.problem = fmt::format(
            "it would share the lock file {} with '{}' and never run: give each its own <output> (or "
            "<lock_file>)",
            program.lock_file.filename().string(), owner->second->cmd);
    };
    for (ConfiguredProgram& program : programs.daemons) {
        if (is_active(program)) refuse_shared_lock(program);
        if (!is_active(program)) continue;
        if (!pid_owners.try_emplace(program.pid_file, &program).second) {
            program.pid_file = program.lock_file.parent_path() / (program.lock_file.stem().string() + ".pid");
            pid_owners.try_emplace(program.pid_file, &program);
        }
    }
    // Tasks come and go: two that share a lock take turns, only a daemon would keep a task out for ever.
    for (ConfiguredProgram& program : programs.tasks) {
        if (is_active(program) && lock_owners.contains(program.lock_file)) refuse_shared_lock(program);
    }
}

/// Tasks may share a lock: each has an id of its own.
void name_all(std::vector<ConfiguredProgram>& programs) {
    std::map<std::string, int> used;
    for (ConfiguredProgram& program : programs) {
        if (program.name.empty()) continue;
        program.id = program.lock_file.filename().string();
        if (program.id.ends_with(".lock")) program.id.resize(program.id.size() - 5);
        if (const int n = ++used[program.id]; n > 1) program.id += fmt::format("-{}", n);
    }
}

}  // namespace

std::string shell_line(const ConfiguredProgram& program) {
    // A signal must reach what the shell runs, which shares its process group.
    return "trap \"kill 0\" INT QUIT HUP TERM; " + program.cmd + "& wait";
}

bool same_host(const std::string& a, const std::string& b) {
    const std::string x = to_lower_ascii(a), y = to_lower_ascii(b);
    const bool address = x.find_first_not_of("0123456789.") == x.npos || x.find(':') != x.npos;
    const auto is_short_of = [](const std::string& name, const std::string& full) {
        return full.size() > name.size() && full.starts_with(name) && full[name.size()] == '.';
    };
    return x == y || (!address && (is_short_of(x, y) || is_short_of(y, x)));
}

bool is_this_host(const std::string& name, const HostFolders& folders) {
    return is_loopback_name(name) || same_host(name, folders.host) || is_own_address(name);
}

HostFolders host_folders(const ProjectConfig& config, const std::string& host) {
    HostFolders folders;
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

ConfiguredPrograms configured_programs(const DaemonsAndTasks& entries, const ProjectConfig& config,
                                       const HostFolders& folders) {
    ConfiguredPrograms programs;
    const auto runs_here = [&](const std::string& given) {
        // What a machine calls itself is the main one: others that run `start` on their own read it, too.
        const std::string& host = given.empty() || is_loopback_name(given) ? config.host : given;
        if (is_this_host(host, folders)) return true;
        if (std::ranges::find(programs.other_hosts, host) == programs.other_hosts.end())
            programs.other_hosts.push_back(host);
        return false;
    };
    for (const DaemonEntry& entry : entries.daemons) {
        if (runs_here(entry.host)) programs.daemons.push_back(daemon_job(entry, folders));
    }
    for (const TaskEntry& entry : entries.tasks) {
        if (runs_here(entry.host)) programs.tasks.push_back(task_job(entry, folders));
    }
    resolve_collisions(programs);
    name_all(programs.daemons);
    name_all(programs.tasks);
    return programs;
}

}  // namespace sluice
