#pragma once
// A FastCGI server of its own, for a web server that only connects (mod_proxy_fcgi, nginx): opens the socket, takes
// requests (acceptor.h) and has them answered by worker processes (worker_pool.h).
#include <functional>
#include <string>

#include "worker_pool.h"

namespace sluice {

struct ListenOptions {
    std::string address;  ///< HOST:PORT (numeric host), or the path of a Unix socket
    WorkerLimits workers;
};

/// Runs `worker` in each of the processes, with a WorkerGateway's channel as standard input. `sorry`: the reply to a
/// request whose worker died. Returns after SIGTERM, SIGINT or SIGHUP, when requests that had come whole have their
/// replies: the exit status. Throws Error if the address can't be used.
int serve_workers(const ListenOptions& options, const std::function<int()>& worker, const std::string& sorry);

}  // namespace sluice
