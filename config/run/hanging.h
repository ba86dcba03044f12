// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Daemons that are there and do nothing any more. Which those are, their signs of life tell; a program that writes none
// is never taken for one.
#include <sys/types.h>

#include "config/run/commands.h"

namespace sluice {

/// s that a turn may begin late before its daemon is ended. A daemon that sleeps through its time is stopped or lost;
/// one that works, however long, may have a long backlog, and is left alone.
inline constexpr double kLateAndEnded = 300;

/// By SIGSTOP, say; one that a debugger holds is not.
bool is_stopped(pid_t pid);

/// Ends each daemon of config.xml that hangs, so that it can be started anew, and says so on standard error: first by
/// the signal of bin/stop, after ten seconds by SIGKILL. One that a debugger holds is left alone.
void end_hanging_daemons(const CommandContext& context, double now);

}  // namespace sluice
