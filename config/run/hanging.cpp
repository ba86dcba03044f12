// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/run/hanging.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "config/run/process_lock.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/life_sign.h"

namespace sluice {
namespace {

constexpr double kGrace = 10, kLook = 0.05;  // s

/// The value of that line of /proc/PID/status; "" if the process is gone.
std::string status_of(pid_t pid, const std::string& name) {
    const std::string status = "\n" + read_file(fmt::format("/proc/{}/status", pid)).value_or("");
    const std::size_t at = status.find("\n" + name + ":\t");
    if (at == std::string::npos) return "";
    const std::size_t begin = at + name.size() + 3;
    return status.substr(begin, status.find('\n', begin) - begin);
}

/// Why the process hangs; "" if it does not.
std::string hang_of(pid_t pid, const std::vector<LifeSign>& signs, double now) {
    double newest = 0;
    for (const LifeSign& sign : signs) {
        if (sign.pid != pid) continue;
        if (const double late = lateness(sign, signs, now); late > kLateAndEnded)
            return fmt::format("its turn is {:.0f} min late", late / 60);
        newest = std::max({newest, sign.began, sign.ended, sign.failing});
    }
    // One that is stopped within a turn is never late.
    const bool hangs = newest > 0 && now - newest > kLateAndEnded && is_stopped(pid);
    return hangs ? fmt::format("it is stopped, and its last sign is {:.0f} min old", (now - newest) / 60) : "";
}

bool ends_within(const ProcessHandle& process, double seconds) {
    for (double waited = 0; waited < seconds && !process.ended(); waited += kLook)
        std::this_thread::sleep_for(std::chrono::duration<double>(kLook));
    return process.ended();
}

void end_process(const ProcessHandle& process) {
    process.send(SIGHUP);
    process.send(SIGCONT);  // one that is stopped sees no other signal
    if (ends_within(process, kGrace)) return;
    process.send(SIGKILL);
    ends_within(process, kGrace);
}

}  // namespace

bool is_stopped(pid_t pid) { return status_of(pid, "State").starts_with('T'); }

void end_hanging_daemons(const CommandContext& context, double now) {
    const std::vector<LifeSign> signs = life_signs(context.folders.project);
    for (const ConfiguredProgram& program : context.programs.daemons) {
        if (program.disabled || program.lock_file.empty()) continue;
        try {
            const auto pid = lock_holder(program.lock_file);
            const std::string hang = pid ? hang_of(*pid, signs, now) : "";
            if (hang.empty() || status_of(*pid, "TracerPid") != "0") continue;
            const auto process = ProcessHandle::open(*pid);
            // The lock tells once more that the handle is on the daemon, and on no later process with its pid.
            if (!process || lock_holder(program.lock_file) != pid) continue;
            std::fflush(stdout);
            fmt::print(stderr, "  '{}' hangs: {}. Ending process {}, to start it anew\n", program.cmd, hang, *pid);
            end_process(*process);
        } catch (const FileError& error) {
            fmt::print(stderr, "  '{}': {}\n", program.cmd, error.what());
        }
    }
}

}  // namespace sluice
