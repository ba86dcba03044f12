// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

namespace sluice {

/// sluice units (sluice/daemon/subcommand.h).
int units_command(int argc, const char* const* argv);

}  // namespace sluice
