// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The database does not tell which apps have an assimilator: config.xml does, as far as it starts them.
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "sluice/model/catalogue.h"

namespace sluice {

/// Whether a daemon or task, disabled or not, may be an assimilator of the app. A command is one if "assim" is part of
/// some word. It is for the apps that it names, and for all if it has no --app. In doubt the answer is yes.
bool may_have_assimilator(std::string_view app, const DaemonsAndTasks& entries);

/// It may have one, but each of them is disabled: what it is to assimilate waits until one is switched on.
bool assimilator_is_off(std::string_view app, const DaemonsAndTasks& entries);

/// A command whose words hold `part` ("assim", "valid"), and that is for the app, as above.
bool may_serve(std::string_view part, std::string_view app, const std::string& command);

// Apps with size classes need two more programs. Without a size_regulator their jobs stay INACTIVE; without a
// size_census no host has a class. What sluice_options --check says of them.

/// A line for each of `apps` (which have size classes) that no enabled daemon or task regulates, and one if no
/// size_census runs. `in_section`: the apps of <size_regulator>, which a size_regulator without --app_name takes. What
/// else runs programs, cron say, is not known here.
std::vector<std::string> unattended_apps(std::span<const App> apps, const DaemonsAndTasks& entries,
                                         std::span<const std::string> in_section);

// Apps without a validator or an assimilator among the daemons, and scripts of both that can't be called.

/// A line for each app that is not deprecated and that no enabled daemon or task validates, or assimilates. In doubt it
/// is served: by a command that names no app, or by a program of the project's own that names it.
std::vector<std::string> unserved_apps(std::span<const App> apps, const DaemonsAndTasks& entries);

/// A line for each script of a script_assimilator or script_validator that is not in `bin`, or can't be executed.
std::vector<std::string> scripts_that_fail(const DaemonsAndTasks& entries, const std::filesystem::path& bin);

}  // namespace sluice
