// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/group_guard.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace sluice::test {
namespace {

/// Only system calls: the test program may have threads.
[[noreturn]] void watch(int pipe, pid_t group) {
    ::setsid();  // not among those whom a signal to the test's group reaches
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, SIG_IGN);
    for (int fd = 3; fd < 1024; ++fd)
        if (fd != pipe) ::close(fd);
    char byte;
    while (::read(pipe, &byte, 1) < 0 && errno == EINTR) {
    }
    ::kill(-group, SIGKILL);
    ::_exit(0);
}

}  // namespace

GroupGuard::GroupGuard(pid_t group) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    watcher_ = ::fork();
    if (watcher_ == 0) watch(ends[0], group);
    ::close(ends[0]);
    pipe_ = ends[1];
    if (watcher_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
}

GroupGuard::~GroupGuard() {
    ::close(pipe_);
    while (::waitpid(watcher_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace sluice::test
