// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "config/run/configured_programs.h"
#include "config/run/process_lock.h"

namespace sluice {

struct Spawned {
    enum class Outcome { kStarted, kAlreadyRunning, kFailed };
    Outcome outcome = Outcome::kFailed;
    pid_t pid = 0;        ///< of a started one
    std::string problem;  ///< of a failed one: one line
};

/// Runs a daemon or task in a session of its own. It holds its lock and guard until it ends, and has a pid file. Its
/// stdout and stderr are appended to its output; stdin is empty, the current directory tmp_HOST, the umask 022. Returns
/// when its program runs, or can't.
Spawned spawn(const ConfiguredProgram& program, const HostFolders& folders);

/// It holds its lock, or its place in the guard.
bool is_running(const ConfiguredProgram& program, const HostFolders& folders);

/// This process becomes the program, with its lock, guard and pid file, and no session of its own. Ends the process
/// (1) if that does not work, and says why on standard error. `to_journal`: its output stays where this process's goes.
[[noreturn]] void become(const ConfiguredProgram& program, const HostFolders& folders, bool to_journal);

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
PidFolder find_running(const HostFolders& folders, const ConfiguredPrograms& programs);

struct StopOutcome {
    int signalled = 0;
    std::vector<std::string> still_running;  ///< "name (pid N)"
};
/// SIGHUP to each, waits up to `wait` seconds for them to end, unlinks the pid files of those that did.
StopOutcome stop_all(const PidFolder& found, double wait, bool verbose);

}  // namespace sluice
