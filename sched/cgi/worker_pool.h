// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The protocol between the server that holds requests and a worker that answers them, on a socket pair. A task goes one
// way, with the request's file or, if that is short, with its bytes behind it; the reply, after its length, goes the
// other way.
#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sched/cgi/held_request.h"
#include "sched/cgi/termination.h"
#include "sched/web/gateway.h"

namespace sluice {

struct Task {
    HeldKind kind = HeldKind::kWhole;
    std::uint32_t params_size = 0;
    std::uint64_t body_size = 0;
};

/// False: the worker is gone.
bool send_task(int socket, const Task& task, const HeldRequest& request);

/// The length that stands before a reply.
using ReplyLength = std::uint64_t;

/// A worker's side: requests as they are handed over on standard input.
class WorkerGateway final : public Gateway {
  public:
    WorkerGateway();
    ~WorkerGateway() override { forget(); }
    bool accept() override;
    std::string variable(const char* name) const override;
    ReadResult read(char* buffer, std::size_t size, Deadline until) override;
    void write(std::string_view text) override { reply_ += text; }
    void finish() override;
    bool persistent() const override { return true; }
    std::optional<HeldBody> held() const override;
    void release_held() override;
    void page_out_held(std::size_t bytes) override;

  private:
    void forget();
    bool take_file(int fd);
    bool take_bytes(std::size_t there);
    /// Standard input is put aside when a signal says that this is the last request; the reply still goes here.
    const OwnedFd channel_{::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)};
    std::optional<Task> task_;
    std::string params_;
    const std::unique_ptr<char[]> buffer_;  ///< of short requests
    std::string_view body_;                 ///< in it
    void* mapping_ = nullptr;
    std::size_t mapped_ = 0;
    std::string reply_;
};

// The worker processes of `cgi --listen`: as many as there is work for, between two bounds; each has one request at a
// time. Those that end are replaced; where the system has no room for another, that is said once and tried again later.

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
