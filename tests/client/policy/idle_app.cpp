// SPDX-License-Identifier: LGPL-3.0-or-later
// What the clients of these tests run: nothing, for ever. It ends with the client that started it, even when that is
// killed.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

int main() {
    const pid_t client = ::getppid();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != client || client == 1) return 0;
    for (;;) ::pause();
}
