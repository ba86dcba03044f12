// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A FastCGI server of its own, for a web server that only connects (mod_proxy_fcgi, nginx). It opens the socket and
// takes requests (acceptor.h); worker processes answer them (worker_pool.h).
#include <functional>
#include <string>

#include "sched/cgi/worker_pool.h"

namespace sluice {

struct ListenOptions {
    std::string address;  ///< HOST:PORT (numeric host), or the path of a Unix socket
    bool for_relays =
        false;  ///< the address is place_for_relays() (unix_socket.h): only its owner, its group and root may connect
    WorkerLimits workers;
    /// What keeps it from handing out jobs, for its service manager, in few words; "" or no function: nothing.
    std::function<std::string()> lacks;
};

/// Runs `worker` in each of the processes, with a WorkerGateway's channel as standard input. `sorry` makes the
/// reply to a request whose worker died. Returns after SIGTERM, SIGINT or SIGHUP, when requests that had come whole
/// have their replies: the exit status. Throws Error if the address can't be used.
int serve_workers(const ListenOptions& options, const std::function<int()>& worker,
                  const std::function<std::string()>& sorry);

}  // namespace sluice
