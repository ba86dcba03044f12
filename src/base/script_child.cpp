// SPDX-License-Identifier: LGPL-3.0-or-later
#include "src/base/script_child.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace sluice {

void become_script(char* const* argv, const ScriptChild& child) {
    if (child.leads) ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);             // NOLINT: its signature
    if (::getppid() != child.parent) ::_exit(127);  // it had ended before
    for (int i = 0; i < 3; ++i)
        if (const int fd = child.streams[static_cast<std::size_t>(i)]; fd >= 0) ::dup2(fd, i);
    if (child.memory > 0) {
        const rlimit limit{child.memory, child.memory};
        ::setrlimit(RLIMIT_DATA, &limit);
    }
    const rlimit no_core{0, 0};
    if (child.no_core) ::setrlimit(RLIMIT_CORE, &no_core);
    ::signal(SIGPIPE, SIG_DFL);  // what a daemon ignores, a script would, too
    ::signal(SIGUSR1, SIG_DFL);
    ::execv(argv[0], argv);
    ::_exit(127);
}

}  // namespace sluice
