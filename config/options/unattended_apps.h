// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Apps with size classes need two programs that apps without do not: without a size_regulator their jobs stay INACTIVE,
// without a size_census no host has a class. What sluice_options --check says of them.
#include <span>
#include <string>
#include <vector>

#include "config/load.h"
#include "sluice/model/records.h"

namespace sluice {

/// A line for each of `apps` (which have size classes) that no enabled daemon or task regulates, and one if no
/// size_census runs. `in_section`: the apps of <size_regulator>, which a size_regulator without --app_name takes. What
/// else runs programs, cron say, is not known here.
std::vector<std::string> unattended_apps(std::span<const App> apps, const DaemonsAndTasks& entries,
                                         std::span<const std::string> in_section);

}  // namespace sluice
