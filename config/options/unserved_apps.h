// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Apps without a validator or an assimilator among the daemons, and scripts of both that can't be called.
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "config/load.h"
#include "sluice/model/records.h"

namespace sluice {

/// A line for each app that is not deprecated and that no enabled daemon or task validates, or assimilates. In doubt it
/// is served: by a command that names no app, or by a program of the project's own that names it.
std::vector<std::string> unserved_apps(std::span<const App> apps, const DaemonsAndTasks& entries);

/// A line for each script of a script_assimilator or script_validator that is not in `bin`, or can't be executed.
std::vector<std::string> scripts_that_fail(const DaemonsAndTasks& entries, const std::filesystem::path& bin);

}  // namespace sluice
