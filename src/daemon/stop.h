// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What asks a daemon to stop. Signals can only be caught per process, so this state is the process's, armed
// by run_daemon and read by stop_requested().
#include <filesystem>
#include <string>

namespace sluice {

/// Catches SIGHUP, SIGTERM and SIGINT as "stop", SIGUSR1 (if it would end the program) and SIGPIPE as
/// nothing. Empty handlers rather than SIG_IGN: programs that we start get the defaults back.
class StopWatch {
  public:
    /// `stop_file` empty: only signals stop. It is looked for at most every `look_interval` seconds. `program`: whose
    /// log level the file log_levels beside it may change meanwhile; empty: of none.
    explicit StopWatch(const std::filesystem::path& stop_file, double look_interval = 0.99,
                       const std::string& program = "");
    StopWatch(const StopWatch&) = delete;
    StopWatch& operator=(const StopWatch&) = delete;
    ~StopWatch();  ///< the old signal handlers are back
};

/// Why stop_requested() is true: "SIGTERM", "trigger file /p/stop_daemons is present".
std::string stop_reason();

}  // namespace sluice
