// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "config/run/jobs.h"
#include "config/run/process_lock.h"

namespace sluice {

/// A daemon that runs: it holds a lock file of the folder, and `handle` stays on it, no matter which process gets its
/// pid next.
struct RunningDaemon {
    ProcessHandle handle;
    std::string name;                              ///< for messages
    std::vector<std::filesystem::path> pid_files;  ///< that name it
};
struct PidFolder {
    std::vector<RunningDaemon> running;
    std::vector<std::filesystem::path> stale;  ///< pid files whose process is gone, or is another one by now
};

/// All daemons that start or upstream's script started and that still run, those no longer in config.xml
/// included.
PidFolder find_running(const RunFolders& folders, const RunList& jobs);

struct StopOutcome {
    int signalled = 0;
    std::vector<std::string> still_running;  ///< "name (pid N)"
};
/// SIGHUP to each, waits up to `wait` seconds for them to end, unlinks the pid files of those that did.
StopOutcome stop_all(const PidFolder& found, double wait, bool verbose);

}  // namespace sluice
