// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A FastCGI server of its own, for a web server that only connects (mod_proxy_fcgi, nginx). It opens the socket and
// takes requests (acceptor.h); worker processes answer them (worker_pool.h).
#include <filesystem>
#include <functional>
#include <string>

#include "sched/cgi/worker_pool.h"

namespace sluice {

struct ListenOptions {
    std::string address;      ///< HOST:PORT (numeric host), or the path of a Unix socket
    bool for_relays = false;  ///< the address is place_for_relays(): only its owner, its group and root may connect
    WorkerLimits workers;
};

/// Where cgi-bin/cgi looks for the resident scheduler. Makes the folder if it is missing, and PROJECT/cgi-bin the
/// current folder, as it is for a program that the web server starts. Throws Error.
std::string place_for_relays(const std::filesystem::path& project);

/// Runs `worker` in each of the processes, with a WorkerGateway's channel as standard input. `sorry` makes the
/// reply to a request whose worker died. Returns after SIGTERM, SIGINT or SIGHUP, when requests that had come whole
/// have their replies: the exit status. Throws Error if the address can't be used.
int serve_workers(const ListenOptions& options, const std::function<int()>& worker,
                  const std::function<std::string()>& sorry);

}  // namespace sluice
