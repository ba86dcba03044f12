// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

namespace sluice {

/// A termination signal came while a persistent program was waiting or working.
bool termination_requested();
/// CGI: SIGTERM ends at once (the database rolls back, the feeder takes back slots, the kernel frees locks).
/// FastCGI: the current request is finished first.
void handle_signals(bool persistent);

}  // namespace sluice
