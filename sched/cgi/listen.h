#pragma once
// A FastCGI server of its own, for a web server that only connects (mod_proxy_fcgi, nginx): opens the socket, keeps N
// worker processes, starts those anew that end.
#include <functional>
#include <string>

namespace sluice {

struct ListenOptions {
    std::string address;  ///< HOST:PORT (numeric host), or the path of a Unix socket
    int processes = 8;
};

/// Runs `worker` in each of the processes with the listening socket as its standard input, as a FastCGI program expects
/// it. Returns after SIGTERM, SIGINT or SIGHUP, when the workers have finished what they were doing: the exit status.
/// Throws Error if the address can't be used.
int serve_workers(const ListenOptions& options, const std::function<int()>& worker);

}  // namespace sluice
