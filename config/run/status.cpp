// status: the mode, and a table of this host's daemons and tasks in upstream's columns. What holds a lock
// runs.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <ctime>

#include "config/run/commands.h"
#include "config/run/process_lock.h"

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

std::string tail(const Job& job) {
    return fmt::format("{:<8}  {}{}", job.disabled ? "yes" : "no", job.cmd,
                       job.problem.empty() ? "" : "  (" + job.problem + ")");
}

void print_daemons(const JobList& jobs) {
    fmt::print("\nDAEMON  pid      status       lockfile  disabled  commandline\n");
    int n = 0;
    for (const Job& job : jobs.daemons) {
        const auto holder = job.problem.empty() ? lock_holder(job.lock_file) : std::nullopt;
        fmt::print("  {:>2}    {:<7}  {:<11}  {:<8}  {}\n", ++n, holder.value_or(0), holder ? "running" : "NOT RUNNING",
                   holder ? "locked" : "UNLOCKED", tail(job));
    }
}

void print_tasks(const JobList& jobs, const RunState& state) {
    fmt::print("\nTASK  last run             period    next run             lockfile  disabled  commandline\n");
    const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    int n = 0;
    for (const Job& job : jobs.tasks) {
        const auto found = state.last_run.find(job.cmd);
        const double last_run = found == state.last_run.end() ? 0 : found->second;
        const double next_run = last_run + job.period;
        const bool locked = job.problem.empty() && lock_holder(job.lock_file).has_value();
        fmt::print("  {:>2}  {:<19}  {:<8}  {:<19}  {:<8}  {}\n", ++n, last_run > 0 ? time_text(last_run) : "?",
                   period_text(job.period), next_run <= now ? "NOW" : time_text(next_run),
                   locked ? "LOCKED" : "unlocked", tail(job));
    }
}

}  // namespace

int command_status(const RunContext& context) {
    const RunState state = read_run_state(context.options.run_state_file);
    fmt::print("BOINC is {}\n", state.enabled ? "ENABLED" : "DISABLED");
    if (context.options.quiet) return 0;
    print_daemons(context.jobs);
    print_tasks(context.jobs, state);
    return 0;
}

}  // namespace sluice
