// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

namespace sluice {

/// sluice health (sluice/daemon/subcommand.h). Exit status: 0 well, 1 degraded, 2 broken.
int health_command(int argc, const char* const* argv);

}  // namespace sluice
