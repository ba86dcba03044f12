// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

namespace sluice {

/// sluice check (sluice/daemon/subcommand.h).
int check_command(int argc, const char* const* argv);

}  // namespace sluice
