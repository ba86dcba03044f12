// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The scheduler that the relay carries in a section of its own file, for a project where somebody copied cgi-bin/cgi
// alone: it must go on being all that is needed.

namespace sluice::relay {

/// Replaces this process by it. Comes back, with errno, if that can't be.
void exec_embedded_scheduler(char** argv, char** environment);

}  // namespace sluice::relay
