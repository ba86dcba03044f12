// SPDX-License-Identifier: LGPL-3.0-or-later
// status: the mode, and a table of this host's daemons and tasks in upstream's columns. What holds a lock
// runs.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <ctime>
#include <map>
#include <optional>
#include <set>

#include "config/run/commands.h"
#include "config/run/process_lock.h"
#include "config/run/spawn.h"
#include "sluice/base/project.h"

namespace sluice {
namespace {

std::string time_text(double seconds) {
    const auto time = static_cast<std::time_t>(seconds);
    std::tm local{};
    ::localtime_r(&time, &local);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y/%m/%d %H:%M:%S", &local);
    return text.data();
}

std::string period_text(double seconds) {
    const auto whole = static_cast<long>(seconds);
    if (whole > 0 && whole % 86400 == 0) return fmt::format("{} d", whole / 86400);
    if (whole > 0 && whole % 3600 == 0) return fmt::format("{} h", whole / 3600);
    if (whole > 0 && whole % 60 == 0) return fmt::format("{} min", whole / 60);
    return fmt::format("{} s", seconds);
}

std::string tail(const ConfiguredProgram& program) {
    return fmt::format("{:<8}  {}{}", program.disabled ? "yes" : "no", program.cmd,
                       program.problem.empty() ? "" : "  (" + program.problem + ")");
}

/// What runs, by lock files and by the guard, which outlives them.
class RunningPrograms {
  public:
    explicit RunningPrograms(const HostFolders& folders) : guarded_(guard_holders(folders.guard)) {}
    std::optional<pid_t> of(const ConfiguredProgram& program) const {
        if (program.name.empty()) return std::nullopt;
        const auto holder = lock_holder(program.lock_file);
        const auto guarded = guarded_.find(program.place);
        return holder || guarded == guarded_.end() ? holder : guarded->second;
    }

  private:
    std::map<GuardPlace, pid_t> guarded_;
};

/// Number of daemons that should run and do not.
int print_daemons(const ConfiguredPrograms& programs, const RunningPrograms& holders, bool quiet) {
    if (!quiet) fmt::print("\nDAEMON  pid      status       lockfile  disabled  commandline\n");
    int n = 0, missing = 0;
    for (const ConfiguredProgram& program : programs.daemons) {
        const auto holder = holders.of(program);
        const bool locked = holder && lock_holder(program.lock_file);
        if (!holder && !program.disabled) ++missing;
        if (quiet) continue;
        fmt::print("  {:>2}    {:<7}  {:<11}  {:<8}  {}\n", ++n, holder.value_or(0), holder ? "running" : "NOT RUNNING",
                   locked   ? "locked"
                   : holder ? "GONE"
                            : "UNLOCKED",
                   tail(program));
    }
    return missing;
}

void print_tasks(const ConfiguredPrograms& programs, const RunState& state, const RunningPrograms& holders) {
    fmt::print("\nTASK  last run             period    next run             lockfile  disabled  commandline\n");
    const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    int n = 0;
    for (const ConfiguredProgram& program : programs.tasks) {
        const auto found = state.last_run.find(program.cmd);
        const double last_run = found == state.last_run.end() ? 0 : found->second;
        const double next_run = last_run + program.period;
        const bool locked = holders.of(program).has_value();
        fmt::print("  {:>2}  {:<19}  {:<8}  {:<19}  {:<8}  {}\n", ++n, last_run > 0 ? time_text(last_run) : "?",
                   period_text(program.period), next_run <= now ? "NOW" : time_text(next_run),
                   locked ? "LOCKED" : "unlocked", tail(program));
    }
}

/// Daemons that run and are not in config.xml, or no longer: stop ends them too.
void print_others(const CommandContext& context, const RunningPrograms& holders) {
    std::set<pid_t> listed;
    for (const ConfiguredProgram& program : context.programs.daemons) listed.insert(holders.of(program).value_or(0));
    for (const RunningDaemon& daemon : find_running(context.folders, context.programs).running) {
        if (!listed.contains(daemon.handle.pid()))
            fmt::print("Not in config.xml, and running: {} (pid {})\n", daemon.name, daemon.handle.pid());
    }
}

}  // namespace

int command_status(const CommandContext& context) {
    const std::optional<RunState> state = readable_run_state(context.options.run_state_file);
    if (state)
        fmt::print("BOINC is {}\n", state->enabled ? "ENABLED" : "DISABLED");
    else
        fmt::print(stderr, "Whether BOINC is enabled, and when tasks ran last, is not known\n");
    for (const TriggerFile& t : triggers_present(context.folders.project)) fmt::print("{}\n", trigger_text(t));
    const RunningPrograms holders(context.folders);
    const int missing = print_daemons(context.programs, holders, context.options.quiet);
    if (!context.options.quiet) {
        print_tasks(context.programs, state.value_or(RunState()), holders);
        print_others(context, holders);
    }
    if (!state) return 1;
    if (!state->enabled) return kStatusDisabled;
    return missing > 0 ? kStatusDaemonMissing : 0;
}

}  // namespace sluice
