// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Signals that ask a move to end: it goes back first, at a step where that can be done.
#include <signal.h>

#include <array>

namespace sluice {

/// While it lives, SIGHUP, SIGINT and SIGTERM are remembered, and SIGPIPE has no effect: the terminal may be gone.
/// Programs that are started have the usual handlers.
class Interrupts {
  public:
    Interrupts();
    Interrupts(const Interrupts&) = delete;
    Interrupts& operator=(const Interrupts&) = delete;
    ~Interrupts();

  private:
    static constexpr std::array kSignals{SIGHUP, SIGINT, SIGTERM, SIGPIPE};
    std::array<struct sigaction, kSignals.size()> before_{};
};

/// Throws Error if one of them came.
void refuse_if_interrupted();

}  // namespace sluice
