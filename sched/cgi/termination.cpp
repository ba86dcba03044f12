// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/cgi/termination.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace sluice {
namespace {

volatile sig_atomic_t terminating = 0;

void die(int) { ::_exit(1); }

int nowhere = -1;  // /dev/null

/// The listening socket is put aside as well: an accept() that has not begun yet would not see the signal.
void note(int) {
    terminating = 1;
    ::dup2(nowhere, STDIN_FILENO);
}

}  // namespace

bool termination_requested() { return terminating != 0; }

void handle_signals(bool persistent) {
    struct sigaction action {};
    action.sa_handler = persistent ? note : die;
    if (persistent) {
        nowhere = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        action.sa_flags = SA_RESTART;  // a request that is being served goes on; accept() fails on what it finds now
        sigaction(SIGINT, &action, nullptr);
    }
    sigaction(SIGTERM, &action, nullptr);
    action.sa_flags = 0;
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, nullptr);
    // Tools that rotate logs send it. A moved log is noticed at the next request anyhow.
    if (persistent) sigaction(SIGHUP, &action, nullptr);
}

}  // namespace sluice
