// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/cgi/worker_pool.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sluice/base/log.h"

namespace sluice {
namespace {

/// A worker that ends at once is not replaced at once.
constexpr std::chrono::seconds kShortLife{1};
constexpr std::chrono::seconds kForkPause{5};
constexpr std::chrono::seconds kIdle{30};

}  // namespace

WorkerPool::Worker* WorkerPool::take(Clock::time_point now) {
    for (auto& [fd, worker] : workers_)
        if (worker.serves < 0) return &worker;
    return workers_.size() < static_cast<std::size_t>(limits_.most) ? start(now) : nullptr;
}

void WorkerPool::adjust(Clock::time_point now) {
    const auto least = static_cast<std::size_t>(limits_.least);
    while (workers_.size() < least)
        if (start(now) == nullptr) break;
    for (auto it = workers_.begin(); it != workers_.end() && workers_.size() > least;) {
        const bool idle = it->second.serves < 0 && now - it->second.idle_since > kIdle;
        it = idle ? workers_.erase(it) : std::next(it);
    }
}

WorkerPool::Worker* WorkerPool::by_socket(int fd) {
    const auto it = workers_.find(fd);
    return it == workers_.end() ? nullptr : &it->second;
}

void WorkerPool::drop(int fd) { workers_.erase(fd); }

void WorkerPool::signal_all(int signal) const {
    for (const auto& [pid, when] : processes_) ::kill(pid, signal);
}

void WorkerPool::reap() {
    for (int status = 0;;) {
        const pid_t pid = ::waitpid(-1, &status, WNOHANG);
        if (pid <= 0) return;
        const auto it = processes_.find(pid);
        if (it == processes_.end()) continue;
        if (Clock::now() - it->second < kShortLife) not_before_ = Clock::now() + kShortLife;
        processes_.erase(it);
        if (status != 0) log_warning("worker {} ended with status {:#x}", pid, status);
    }
}

WorkerPool::Worker* WorkerPool::start(Clock::time_point now) {
    if (now < not_before_) return nullptr;
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        note_fork(errno);
        return nullptr;
    }
    OwnedFd ours(ends[0]);
    const OwnedFd theirs(ends[1]);
    const pid_t parent = ::getpid(), pid = ::fork();
    if (pid == 0) ::_exit(be_worker(parent, theirs.get()));
    note_fork(pid > 0 ? 0 : errno);
    if (pid < 0) return nullptr;
    processes_[pid] = now;
    const int fd = ours.get();
    Worker& worker = workers_[fd];
    worker.socket = std::move(ours);
    worker.idle_since = now;
    if (on_start) on_start(fd);
    return &worker;
}

/// Trouble is said when it begins and when it is over, not at every try.
void WorkerPool::note_fork(int error) {
    if (error != 0) not_before_ = Clock::now() + kForkPause;
    if (error != 0 && !cant_fork_)
        log_critical("can't start a worker: {}; serving with {}, trying again every {} s", std::strerror(error),
                     workers_.size(), kForkPause.count());
    if (error == 0 && cant_fork_) log_normal("workers can be started again");
    cant_fork_ = error != 0;
}

int WorkerPool::be_worker(pid_t parent, int socket) const {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody would start it anew, or end it
    if (::getppid() != parent) return 1;
    ::dup2(socket, STDIN_FILENO);
    ::close_range(STDERR_FILENO + 1, ~0U, 0);  // the connections of others
    ::sigprocmask(SIG_SETMASK, &outside_, nullptr);
    return run_();
}

}  // namespace sluice
