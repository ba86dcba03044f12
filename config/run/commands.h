// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What start, stop, status and cron do. Each returns the exit status.
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "config/run/configured_programs.h"
#include "config/run/run_state.h"

namespace sluice {

struct CommandOptions {
    bool verbose = false;
    bool quiet = false;
    bool ignore_timestamps = false;
    bool prune_run_state = false;
    double fork_delay = 0.1;  ///< s between daemons
    double stop_wait = 300;   ///< s that stop waits for daemons
    std::filesystem::path run_state_file;
};

struct CommandContext {
    HostFolders folders;
    ConfiguredPrograms programs;
    CommandOptions options;
};

/// nullopt: it can't be read, which standard error says. A damaged file still lets an admin stop the project and see
/// what runs.
std::optional<RunState> readable_run_state(const std::filesystem::path& file);

/// --enable: ENABLED, stop_daemons away, daemons started, stop_sched away.
int command_enable(const CommandContext& context);
/// --cron: dead daemons started anew, those that hang ended and started anew, and due tasks run, if ENABLED; tasks with
/// always_run in any case.
int command_cron(const CommandContext& context, bool with_daemons);
/// --disable: DISABLED, stop_sched and stop_daemons written, daemons asked to stop and waited for.
int command_disable(const CommandContext& context);
/// Exit statuses of status, for monitoring; 0: enabled, and every daemon that is not disabled runs. 1 stays "it could
/// not be found out".
inline constexpr int kStatusDaemonMissing = 2, kStatusDisabled = 3;
int command_status(const CommandContext& context);

}  // namespace sluice
