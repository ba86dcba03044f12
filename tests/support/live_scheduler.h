// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The scheduler of a SchedulerWorld as one process that serves many requests by FastCGI: its connection to the database
// lives on.
#include <string>

#include "tests/support/fastcgi_client.h"
#include "tests/support/scheduler_world.h"

namespace sluice::test {

class LiveScheduler {
  public:
    explicit LiveScheduler(SchedulerWorld& world)
        : world_(world),
          socket_((world.folder() / "socket").string()),
          program_({SchedulerWorld::program()}, options()) {}

    ReplyText post(const RequestText& request) const {
        const std::string body = request.text();
        ReplyText reply;
        reply.run.status = 0;
        reply.run.out = socket_.request(
            {{"REMOTE_ADDR", "10.9.9.9"}, {"REQUEST_METHOD", "POST"}, {"CONTENT_LENGTH", std::to_string(body.size())}},
            body);
        return reply;
    }
    Subprocess& program() { return program_; }
    const FastcgiSocket& socket() const { return socket_; }

  private:
    RunOptions options() const {
        RunOptions o = world_.run_options("", {});
        o.env.clear();
        o.unset.insert(o.unset.end(), {"CONTENT_LENGTH", "GATEWAY_INTERFACE", "REQUEST_METHOD"});
        o.stdin_fd = socket_.fd();
        return o;
    }
    SchedulerWorld& world_;
    FastcgiSocket socket_;
    Subprocess program_;
};

}  // namespace sluice::test
