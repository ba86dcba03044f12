// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/run/commands.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <set>
#include <thread>

#include "config/run/foreground.h"
#include "config/run/hanging.h"
#include "config/run/own_programs.h"
#include "config/run/process_lock.h"
#include "config/run/spawn.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"

namespace sluice {
namespace {

/// A daemon that ends within this time did not really start: it says why in its log.
constexpr double kSettleSeconds = 1;

double now_seconds() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void sleep_seconds(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

void remove_cached_home_page(const CommandContext& context) {
    std::error_code ignored;
    fs::remove(context.folders.project / "html/cache/65/index.php", ignored);
}

struct StartedDaemons {
    std::vector<std::pair<const ConfiguredProgram*, ProcessHandle>> started;
    int problems = 0;
};

void tell_problem(const ConfiguredProgram& program, const std::string& problem, int& problems) {
    std::fflush(stdout);
    fmt::print(stderr, "  Couldn't start '{}': {}\n", program.cmd, problem);
    ++problems;
}

void start_one(const CommandContext& context, const ConfiguredProgram& program, bool announce, StartedDaemons& result) {
    if (!program.problem.empty()) {
        tell_problem(program, program.problem, result.problems);
        return;
    }
    const Spawned spawned = spawn(program, context.folders);
    switch (spawned.outcome) {
        case Spawned::Outcome::kAlreadyRunning:
            if (context.options.verbose) fmt::print("  Daemon already running: {}\n", program.cmd);
            break;
        case Spawned::Outcome::kFailed: tell_problem(program, spawned.problem, result.problems); break;
        case Spawned::Outcome::kStarted:
            if (announce) fmt::print("  Starting daemon: {}\n", program.cmd);
            if (auto handle = ProcessHandle::open(spawned.pid))
                result.started.emplace_back(&program, std::move(*handle));
            sleep_seconds(context.options.fork_delay);
    }
}

StartedDaemons start_daemons(const CommandContext& context, bool cron) {
    StartedDaemons result;
    std::error_code ignored;
    fs::remove(context.folders.project / "stop_daemons", ignored);
    if (const auto mark = units_mark(context.folders.project)) {
        if (!context.options.quiet)
            fmt::print("systemd runs the daemons of this host. If it does not: systemctl start {}\n", mark->target);
        return result;
    }
    for (const ConfiguredProgram& program : context.programs.daemons) {
        if (program.disabled) continue;
        const bool announce = context.options.verbose || (cron && !context.options.quiet && !program.silent_start);
        start_one(context, program, announce, result);
    }
    return result;
}

/// Says which of the daemons just started have ended already; how many these are.
int tell_early_ends(const StartedDaemons& daemons) {
    int ended = 0;
    for (double waited = 0; waited < kSettleSeconds; waited += 0.1) sleep_seconds(0.1);
    for (const auto& [program, handle] : daemons.started) {
        if (!handle.ended()) continue;
        fmt::print(stderr, "  '{}' has ended already: see {}\n", program->cmd, program->output.string());
        ++ended;
    }
    return ended;
}

void run_tasks(const CommandContext& context, RunState& state, int& problems) {
    std::set<std::string> known;
    for (const ConfiguredProgram& task : context.programs.tasks) {
        known.insert(task.cmd);
        if (task.disabled || !(state.enabled || task.always_run)) continue;
        const double now = now_seconds();
        const double last_run = state.last_run[task.cmd];
        // A last run in the future is a clock that was set back.
        if (!context.options.ignore_timestamps && now < last_run + task.period && last_run <= now) {
            if (context.options.verbose) fmt::print("  Not running task because not time yet: {}\n", task.cmd);
            continue;
        }
        if (!task.problem.empty()) {
            tell_problem(task, task.problem, problems);
            continue;
        }
        const Spawned spawned = spawn(task, context.folders);
        if (spawned.outcome == Spawned::Outcome::kFailed) tell_problem(task, spawned.problem, problems);
        if (spawned.outcome == Spawned::Outcome::kAlreadyRunning && context.options.verbose) {
            fmt::print("  Task currently running: {}\n", task.cmd);
        }
        if (spawned.outcome != Spawned::Outcome::kStarted) continue;
        if (context.options.verbose) fmt::print("  Running task: {}\n", task.cmd);
        state.last_run[task.cmd] = now;
        write_run_state(context.options.run_state_file, state);
    }
    if (context.options.prune_run_state) {
        std::erase_if(state.last_run, [&](const auto& entry) { return !known.contains(entry.first); });
    }
}

}  // namespace

int command_enable(const CommandContext& context) {
    RunState state = read_run_state(context.options.run_state_file);
    if (context.options.verbose) fmt::print("{} ENABLED mode\n", state.enabled ? "Staying in" : "Entering");
    state.enabled = true;
    write_run_state(context.options.run_state_file, state);
    if (const ForeignPrograms foreign = foreign_programs(context.folders.project); !foreign.names.empty())
        fmt::print(stderr, "{}\n", foreign.line);
    if (context.options.verbose) fmt::print("Starting daemons\n");
    if (context.programs.daemons.empty()) {
        fmt::print(stderr, "No daemons for this host ({}) in config.xml: check <host>\n", context.folders.host);
    }
    const StartedDaemons daemons = start_daemons(context, false);
    const int ended = daemons.started.empty() ? 0 : tell_early_ends(daemons);
    std::error_code ignored;
    fs::remove(context.folders.project / "stop_sched", ignored);
    remove_cached_home_page(context);
    return daemons.problems + ended == 0 ? 0 : 1;
}

int command_cron(const CommandContext& context, bool with_daemons) {
    if (const auto mark = units_mark(context.folders.project)) {
        if (context.options.verbose) fmt::print("Nothing to do: systemd runs daemons and tasks ({})\n", mark->target);
        return 0;
    }
    RunState state = read_run_state(context.options.run_state_file);
    if (context.options.verbose) fmt::print("Cron start: the project is {}\n", state.enabled ? "ENABLED" : "DISABLED");
    int problems = 0;
    if (with_daemons && state.enabled) {
        end_hanging_daemons(context, now_seconds());
        problems += start_daemons(context, true).problems;
    }
    run_tasks(context, state, problems);
    write_run_state(context.options.run_state_file, state);
    return problems == 0 ? 0 : 1;
}

std::optional<RunState> readable_run_state(const fs::path& file) {
    try {
        return read_run_state(file);
    } catch (const Error& error) {
        fmt::print(stderr, "{}\n", error.what());
        return std::nullopt;
    }
}

/// A full disk is no reason to leave daemons alone. False: it says what to do.
static bool write_that_it_is_stopped(const CommandContext& context, const RunState& state) {
    std::vector<std::string> errors;
    const auto attempt = [&errors](const auto& write) {
        try {
            write();
        } catch (const FileError& error) {
            errors.emplace_back(error.what());
        }
    };
    attempt([&] { write_run_state(context.options.run_state_file, state); });
    // The scheduler first: it would complain about a feeder that is gone.
    for (const char* name : {"stop_sched", "stop_daemons"})
        attempt([&] { write_file_atomically(context.folders.project / name, "<stop/>\n"); });
    for (const std::string& error : errors) fmt::print(stderr, "{}\n", error);
    if (!errors.empty())
        fmt::print(stderr,
                   "Daemons are stopped, but that is not written down: cron may start them again. Remove the cause, "
                   "and run stop again\n");
    return errors.empty();
}

int command_disable(const CommandContext& context) {
    const std::optional<RunState> before = readable_run_state(context.options.run_state_file);
    if (!before) fmt::print(stderr, "Going on without: it is written anew\n");
    RunState state = before.value_or(RunState());
    if (context.options.verbose) fmt::print("{} DISABLED mode\n", state.enabled ? "Entering" : "Staying in");
    state.enabled = false;
    const bool written = write_that_it_is_stopped(context, state);
    if (context.options.verbose) fmt::print("Stopping all daemons\n");
    const PidFolder found = find_running(context.folders, context.programs);
    const StopOutcome outcome = stop_all(found, context.options.stop_wait, context.options.verbose);
    if (context.options.verbose && outcome.signalled == 0) fmt::print("  (No processes stopped)\n");
    remove_cached_home_page(context);
    for (const std::string& daemon : outcome.still_running) {
        fmt::print(stderr, "Still running after {} s: {}; it was asked to stop, run stop again to wait on\n",
                   context.options.stop_wait, daemon);
    }
    return outcome.still_running.empty() && written ? 0 : 1;
}

}  // namespace sluice
