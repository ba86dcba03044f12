// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

namespace sluice::test {

/// A loopback port for a server that is started later, and perhaps again. Nobody else gets it: it lies below the ports
/// that the system gives to clients, and no other test is told it while this process lives.
int free_port();

}  // namespace sluice::test
