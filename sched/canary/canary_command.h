// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

namespace sluice {

/// sluice canary (sluice/daemon/subcommand.h).
int canary_command(int argc, const char* const* argv);

}  // namespace sluice
