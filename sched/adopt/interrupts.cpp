// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/adopt/interrupts.h"

#include <fmt/core.h>

#include <csignal>
#include <cstddef>

#include "sluice/base/error.h"

namespace sluice {
namespace {

volatile std::sig_atomic_t interrupted_by = 0;

}  // namespace

Interrupts::Interrupts() {
    struct sigaction action {};
    action.sa_handler = [](int signal) {
        if (signal != SIGPIPE) interrupted_by = signal;
    };
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &before_[i]);
}

Interrupts::~Interrupts() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

void refuse_if_interrupted() {
    if (interrupted_by != 0) throw Error(fmt::format("signal {}", static_cast<int>(interrupted_by)));
}

}  // namespace sluice
