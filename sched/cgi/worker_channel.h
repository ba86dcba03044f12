// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What passes between the server that holds requests and a worker that answers them, on a socket pair: a task with the
// request's file one way, the reply with its length before it the other way.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>

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
bool send_task(int socket, const Task& task, int request_file);

/// The length that stands before a reply.
using ReplyLength = std::uint64_t;

/// A worker's side: requests as they are handed over on standard input.
class WorkerGateway final : public Gateway {
  public:
    WorkerGateway() : Gateway(termination_requested) {}
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
    /// Standard input is put aside when a signal says that this is the last request; the reply still goes here.
    const OwnedFd channel_{::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)};
    std::optional<Task> task_;
    std::string params_;
    void* mapping_ = nullptr;
    std::size_t mapped_ = 0;
    std::string reply_;
};

}  // namespace sluice
