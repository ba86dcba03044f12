// SPDX-License-Identifier: LGPL-3.0-or-later
// Preloaded into file_deleter: before the unlink that SLUICE_TEST_UNLINK numbers (from 1) it kills its process, or
// stops it if there is SLUICE_TEST_STOP.
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

extern "C" int unlinkat(int folder, const char* name, int flags) {
    static int number = 0;
    const char* last = std::getenv("SLUICE_TEST_UNLINK");
    if (last != nullptr && ++number == std::atoi(last))
        ::kill(::getpid(), std::getenv("SLUICE_TEST_STOP") != nullptr ? SIGSTOP : SIGKILL);
    return static_cast<int>(::syscall(SYS_unlinkat, folder, name, flags));
}
