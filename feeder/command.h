// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The feeder's command line.
#include "feeder/options.h"
#include "sluice/daemon/program.h"

namespace sluice {

/// The program but for `run`; its command line goes to `options`, which outlives it, as does `argv`.
DaemonProgram feeder_program(int argc, const char* const* argv, FeederOptions& options);

}  // namespace sluice
