// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The worker processes of `cgi --listen`: as many as there is work for, between two bounds; each has one request at a
// time. Those that end are replaced; where the system has no room for another, that is said once and tried again later.
#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "sched/cgi/held_request.h"
#include "sched/cgi/worker_channel.h"

namespace sluice {

struct WorkerLimits {
    int least = 2;
    int most = 8;
};

class WorkerPool {
  public:
    using Clock = std::chrono::steady_clock;
    struct Worker {
        OwnedFd socket;
        Clock::time_point idle_since;
        std::int64_t serves = -1;  ///< whose request: the number that was given to it; -1: idle
        std::string reply;         ///< what has come of it
    };
    /// `run`: what a worker does, with its end of the channel as standard input. `outside`: the signal mask it had.
    WorkerPool(WorkerLimits limits, std::function<int()> run, const sigset_t& outside)
        : limits_(limits), run_(std::move(run)), outside_(outside) {}

    /// An idle one, or a new one if there may be more; null: none for now.
    Worker* take(Clock::time_point now);
    /// Starts what is missing of the least number; ends those that have had nothing to do for long.
    void adjust(Clock::time_point now);
    Worker* by_socket(int fd);
    const std::map<int, Worker>& all() const { return workers_; }
    /// Its channel closed, or was: forgets it.
    void drop(int fd);
    /// Collects ended processes. Says what they died of.
    void reap();
    /// All are to end when they have replied.
    void close_all() { workers_.clear(); }
    bool any_process() const { return !processes_.empty(); }
    void signal_all(int signal) const;
    /// Called with the channel of each worker that was started.
    std::function<void(int fd)> on_start;

  private:
    Worker* start(Clock::time_point now);
    int be_worker(pid_t parent, int socket) const;
    void note_fork(int error);

    WorkerLimits limits_;
    std::function<int()> run_;
    const sigset_t& outside_;
    std::map<int, Worker> workers_;                 ///< by the server's end of the channel
    std::map<pid_t, Clock::time_point> processes_;  ///< started and not yet collected
    Clock::time_point not_before_{};
    bool cant_fork_ = false;
};

}  // namespace sluice
