// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The database does not tell which apps have an assimilator: config.xml does, as far as it starts them.
#include <string_view>

#include "config/load.h"

namespace sluice {

/// Whether a daemon or task, disabled or not, may be an assimilator of the app. A command is one if "assim" is part of
/// some word. It is for the apps that it names, and for all if it has no --app. In doubt the answer is yes.
bool may_have_assimilator(std::string_view app, const DaemonsAndTasks& entries);

/// It may have one, but each of them is disabled: what it is to assimilate waits until one is switched on.
bool assimilator_is_off(std::string_view app, const DaemonsAndTasks& entries);

/// A command whose words hold `part` ("assim", "valid"), and that is for the app, as above.
bool may_serve(std::string_view part, std::string_view app, const std::string& command);

}  // namespace sluice
