// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// How a script of a project is started, and what its process does before it becomes the script.
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
    char* const* environment = nullptr;      ///< nullptr: as this process has it
};

/// Its process; -1: there can be no more. A script that can't be started ends with exit status 127. Returns when the
/// script has begun: until then the new process works in this one's memory, of which nothing is copied.
pid_t start_script_child(char* const* argv, const ScriptChild& child);

}  // namespace sluice
