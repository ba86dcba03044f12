// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

namespace sluice {

/// sluice shadow and sluice what-if (sluice/daemon/subcommand.h).
int shadow_command(int argc, const char* const* argv);
int what_if_command(int argc, const char* const* argv);

}  // namespace sluice
