// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "config/load.h"

namespace sluice {

/// The words of each daemon and task that is not disabled, on any host. A <cmd> with an open quote is left out.
std::vector<std::vector<std::string>> enabled_commands(const DaemonsAndTasks& entries);

}  // namespace sluice
