// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which daemons and tasks run on this host, and which files each of them owns. Pure: config in, list out, but for a
// look at the machine's own addresses.
#include <filesystem>
#include <string>
#include <vector>

#include "config/load.h"
#include "config/run/process_lock.h"

namespace sluice {

/// Where start keeps things on this host.
struct HostFolders {
    std::filesystem::path project, bin, tmp, log, pid;
    std::filesystem::path guard;  ///< PROJECT/run_lock_HOST: what runs, whatever becomes of `pid`
    std::string host;             ///< short name
};
/// PROJECT/tmp_HOST … unless <tmp_HOST_dir> … say otherwise.
HostFolders host_folders(const ProjectConfig& config, const std::string& host);

struct ConfiguredProgram {
    std::string cmd;
    std::string name;
    std::string id;  ///< its lock file without ".lock"; a number is added for a second task of that lock
    std::vector<std::string> words;
    std::filesystem::path output, lock_file;
    GuardPlace place = 0;            ///< in the guard
    std::filesystem::path pid_file;  ///< empty for tasks
    bool disabled = false;
    bool use_shell = false;
    bool silent_start = false;
    double period = 0;  ///< tasks: seconds
    bool always_run = false;
    std::string problem;  ///< not empty: it is not started, for this reason
};

struct ConfiguredPrograms {
    std::vector<ConfiguredProgram> daemons, tasks;
    std::vector<std::string> other_hosts;  ///< that have daemons or tasks, each once
};

/// Programs of this host in file order. If two enabled daemons would own one lock file, the later one gets a problem:
/// it could never run, and upstream says nothing. A pid file that two would share is named after the lock instead.
ConfiguredPrograms configured_programs(const DaemonsAndTasks& entries, const ProjectConfig& config,
                                       const HostFolders& folders);

/// What the shell is given of a program with <use_shell>.
std::string shell_line(const ConfiguredProgram& program);

/// "node7" is "node7.example.org" and "NODE7".
bool same_host(const std::string& a, const std::string& b);
/// The name or an address of the machine whose folders these are, or "localhost".
bool is_this_host(const std::string& name, const HostFolders& folders);

}  // namespace sluice
