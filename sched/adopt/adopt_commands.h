// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

namespace sluice {

/// sluice adopt, sluice revert and sluice upgrade (sluice/daemon/subcommand.h).
int adopt_command(int argc, const char* const* argv);
int revert_command(int argc, const char* const* argv);
int upgrade_command(int argc, const char* const* argv);

}  // namespace sluice
