// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// A process that can be distinguished from a later one with the same pid.
struct ProcessId {
    std::int32_t pid = 0;
    std::uint64_t start_ticks = 0;  ///< field 22 of /proc/PID/stat: clock ticks after boot
    friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

ProcessId this_process();
/// False only with proof: no such pid, a zombie, or another start time.
bool is_alive(const ProcessId& process);

/// Where this program is installed.
std::filesystem::path own_prefix();
/// A command of the program sluice for that project, as it works in any shell. `words`: "canary --stop".
std::string sluice_command(const std::string& words, const std::filesystem::path& project);

/// Waits until a child ends. Its exit status: 128 + n for signal n, 127 if it is no child of this process.
int wait_for_child(int pid);
/// The same without waiting; nullopt: it still runs.
std::optional<int> poll_child(int pid);

inline constexpr int kScriptTimedOut = 124;
inline constexpr int kScriptStopped = 256;  ///< no script ends so
/// s that a project's script, or its code, gets for one call, or for one workunit, unless an option says otherwise.
inline constexpr double kScriptTimeLimit = 600;

struct ScriptRun {
    double limit = 0;                    ///< s; 0: none
    const std::string* input = nullptr;  ///< what it reads; null: what this process reads
    std::string* output = nullptr;       ///< gets what it prints, 1 MB at most; null: goes where this process's goes
    std::vector<std::string> environment = {};  ///< "NAME=value", instead of this process's NAME
    std::function<bool()> stop = {};            ///< asked each second; true: nobody waits for the script any more
    double grace = 10;                          ///< s that it then still gets
};
/// An admin's script, without a shell: runs it, and waits. The exit status: 128 + n for signal n, 127 if it can't be
/// started. After `limit` seconds it and what it started are killed: kScriptTimedOut; after a stop and its
/// grace, too: kScriptStopped. It is killed, too, when this process is.
int run_script(const std::vector<std::string>& words, const ScriptRun& run);
inline int run_script(const std::vector<std::string>& words, double limit = 0, const std::string* input = nullptr) {
    return run_script(words, ScriptRun{limit, input});
}

/// From now on this process can't hold more private memory (allocations then fail; what is mapped shared does not
/// count): a fault in it does not take the machine with it. Without effect under sanitizers, which map terabytes.
void limit_memory(std::uint64_t bytes);

}  // namespace sluice
