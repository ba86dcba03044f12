// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// One daemon or task of config.xml as this process: what the systemd units of a project run (sluice units). bin/start,
// bin/stop and bin/status see it as one that bin/start started.
#include <filesystem>
#include <optional>
#include <string>

#include "config/run/commands.h"

namespace sluice {

/// PROJECT/systemd_HOST is there: systemd runs the daemons and tasks of this host, and start leaves them to it.
struct UnitsMark {
    std::string target;   ///< sluice@tiles.target
    std::string folder;   ///< of the units
    std::string options;  ///< of sluice units, as they were given
};
std::filesystem::path units_mark_file(const std::filesystem::path& project);
std::optional<UnitsMark> units_mark(const std::filesystem::path& project);
std::string units_mark_text(const UnitsMark& mark, const std::filesystem::path& project);

/// This process becomes the daemon of that id, as soon as the project is enabled and no other process is that daemon.
/// Returns 1 if there is no such daemon.
int run_daemon_here(const CommandContext& context, const std::string& id, bool to_journal);
/// This process becomes the task, if it is due before half the time to the next look is over. Exit status: 0 if it is
/// not due, or runs already; 1 if there is no such task; else its own.
int run_task_here(const CommandContext& context, const std::string& id, bool to_journal);

/// s between two looks at a task of that period, in s: a tenth of it, from 5 to 15 min; the period itself,
/// if that is shorter.
double task_look_interval(double period);

}  // namespace sluice
