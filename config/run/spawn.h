// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string>

#include "config/run/jobs.h"

namespace sluice {

struct Spawned {
    enum class Outcome { kStarted, kAlreadyRunning, kFailed };
    Outcome outcome = Outcome::kFailed;
    pid_t pid = 0;        ///< of a started one
    std::string problem;  ///< of a failed one: one line
};

/// Runs a daemon or task in a session of its own: lock and guard held by it until it ends, pid file, stdout and stderr
/// appended to its output, stdin empty, current directory tmp_HOST, umask 022. Returns when its program runs,
/// or can't.
Spawned spawn(const RunEntry& job, const RunFolders& folders);

}  // namespace sluice
