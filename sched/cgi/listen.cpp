// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/cgi/listen.h"

#include <fmt/format.h>
#include <netdb.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "sched/cgi/acceptor.h"
#include "sched/web/unix_socket.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/service_manager.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

using Steady = std::chrono::steady_clock;

/// A request takes seconds at most; who still works then is stuck.
constexpr std::chrono::seconds kPatience{60};
/// Of serving_text().
constexpr std::chrono::seconds kBetweenLooks{5};

int listen_on_port(const std::string& address) {
    const auto colon = address.rfind(':');
    std::string host = address.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    if (host.empty()) cant_listen(address, "no host is given (127.0.0.1 for this computer only)");
    // getaddrinfo() keeps the lower 16 bits.
    const auto port = parse_int(address.substr(colon + 1));
    if (!port || *port < 1 || *port > 65535) cant_listen(address, "a port is a number from 1 to 65535");
    addrinfo hints{}, *found = nullptr;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
    hints.ai_socktype = SOCK_STREAM;
    if (const int error = ::getaddrinfo(host.c_str(), std::to_string(*port).c_str(), &hints, &found); error != 0)
        cant_listen(address, ::gai_strerror(error));
    const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const bool bound = ::bind(fd, found->ai_addr, found->ai_addrlen) == 0;
    ::freeaddrinfo(found);
    if (!bound) cant_listen(address, std::strerror(errno));
    if (::listen(fd, kListenBacklog) != 0) cant_listen(address, std::strerror(errno));
    return fd;
}

/// SIGTERM and the like; SIGCHLD only wakes. False: go on.
bool told_to_end(int signals) {
    signalfd_siginfo info{};
    bool end = false;
    while (::read(signals, &info, sizeof info) == static_cast<ssize_t>(sizeof info))
        end |= info.ssi_signo != static_cast<std::uint32_t>(SIGCHLD);
    return end;
}

void end_all(Acceptor& acceptor, WorkerPool& workers, int signals) {
    const auto until = Steady::now() + kPatience;
    acceptor.stop_listening();
    for (; acceptor.busy() && Steady::now() < until; workers.reap()) {
        acceptor.turn();
        told_to_end(signals);  // read, so that they do not wake it again
    }
    workers.close_all();
    workers.signal_all(SIGTERM);
    for (bool killed = false; workers.any_process(); workers.reap()) {
        if (Steady::now() > until && !killed) {
            log_critical("workers had to be killed: they were at work for {} s", kPatience.count());
            workers.signal_all(SIGKILL);
            killed = true;
        }
        ::usleep(5000);
    }
}

/// For who asks the service manager. Without an array it serves all the same: clients are told to come back.
std::string serving_text(const ListenOptions& options) {
    const std::string lack = options.lacks ? options.lacks() : "";
    return fmt::format("Serves requests at {}{}{}", options.address, lack.empty() ? "" : "; ", lack);
}

}  // namespace

int serve_workers(const ListenOptions& options, const std::function<int()>& worker,
                  const std::function<std::string()>& sorry) {
    log_open({});  // stderr's file, of which workers know the name from here
    const bool path = options.address.find('/') != std::string::npos;
    const OwnedFd socket(path ? listen_on_path(options.address, SOCK_STREAM) : listen_on_port(options.address));
    sigset_t signals, outside;
    sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&signals, signal);
    ::sigprocmask(SIG_BLOCK, &signals, &outside);
    const OwnedFd told(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
    log_normal("listening on {} with {} to {} processes", options.address, options.workers.least, options.workers.most);
    WorkerPool workers(options.workers, worker, outside);
    Acceptor acceptor(socket.get(), workers, {}, sorry);
    acceptor.watch(told.get());
    struct stat at {
    }, now{};
    if (path && ::stat(options.address.c_str(), &at) == 0 && options.for_relays)
        acceptor.may_connect = [group = at.st_gid](int fd) { return is_peer_of_group(fd, group); };
    ServiceManager& manager = service_manager();
    std::string serves;
    Steady::time_point look{};
    workers.adjust(Steady::now());
    for (;;) {
        const bool signalled = acceptor.turn();
        if (signalled && told_to_end(told.get())) break;
        if (signalled) workers.reap();
        if (manager.listens() && Steady::now() >= look) {
            serves = serving_text(options);
            look = Steady::now() + kBetweenLooks;
        }
        manager.ready(serves);
        manager.alive();
    }
    manager.stopping("Ends; requests that have come get their replies");
    const bool own =
        path && ::stat(options.address.c_str(), &now) == 0 && now.st_dev == at.st_dev && now.st_ino == at.st_ino;
    if (own) ::unlink(options.address.c_str());
    end_all(acceptor, workers, told.get());
    log_normal("ended");
    return 0;
}

}  // namespace sluice
