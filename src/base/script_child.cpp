// SPDX-License-Identifier: LGPL-3.0-or-later
#include "src/base/script_child.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

extern char** environ;

namespace sluice {

namespace {

/// In the new process: only system calls, for the memory is still its parent's.
[[noreturn]] void become_script(char* const* argv, const ScriptChild& child, const sigset_t& mask) {
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
    // What a daemon handles would be handled in its memory; what it ignores, a script would, too.
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR2, SIGALRM, SIGCHLD}) {
        struct sigaction action {};
        if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) ::signal(signal, SIG_DFL);
    }
    ::signal(SIGPIPE, SIG_DFL);
    ::signal(SIGUSR1, SIG_DFL);
    ::sigprocmask(SIG_SETMASK, &mask, nullptr);
    ::execve(argv[0], argv, child.environment != nullptr ? child.environment : environ);
    ::_exit(127);
}

}  // namespace

pid_t start_script_child(char* const* argv, const ScriptChild& child) {
    sigset_t all, mask;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &mask);  // no handler of this process runs in the new one
    const pid_t pid = ::vfork();  // NOLINT: a copy of this process's memory is the dearest part of a start
    if (pid == 0) become_script(argv, child, mask);
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    return pid;
}

}  // namespace sluice
