// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What a process does between fork() and the script of a project that it becomes.
#include <sys/types.h>

#include <array>
#include <cstdint>

namespace sluice {

struct ScriptChild {
    pid_t parent = 0;                        ///< who forks: when it ends, the script is killed
    std::array<int, 3> streams{-1, -1, -1};  ///< its standard streams; -1: as they are
    bool leads = false;                      ///< a process group of its own
    std::uint64_t memory = 0;                ///< bytes of private memory; 0: no limit
    bool no_core = false;                    ///< a crash writes no file
};

/// In the new process: only what is safe after fork(). Exit status 127: the script can't be started.
[[noreturn]] void become_script(char* const* argv, const ScriptChild& child);

}  // namespace sluice
