// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "config/load.h"

namespace sluice {

/// The words of each daemon and task that is not disabled, on any host. A <cmd> with an open quote is left out.
std::vector<std::vector<std::string>> enabled_commands(const DaemonsAndTasks& entries);

/// Runs `program` with these arguments, as this process's user: "" or, if it fails, the first line that it says.
std::string refusal_of(const std::filesystem::path& program, const std::vector<std::string>& arguments);

// Options turn rules on, programs carry them out: without the programs jobs wait, and nobody is told.

/// What of a project's data needs daemons.
struct DataForDaemons {
    bool batches = false;  ///< there is one that is not retired
    bool gangs = false;    ///< some gangs wait or run
};

/// A line for each daemon that the options and the data need, if no enabled daemon or task runs it. The line says what
/// follows, and which <daemon> to add. What else runs programs, cron say, is not known here.
std::vector<std::string> missing_daemons(const ProjectConfig& config, const DataForDaemons& data,
                                         const DaemonsAndTasks& entries);

/// A line for each task that a new project has and this one lacks, disabled ones included: what grows, or fades,
/// without it, and the <task> to add.
std::vector<std::string> missing_tasks(const DaemonsAndTasks& entries, const std::filesystem::path& project);

}  // namespace sluice
