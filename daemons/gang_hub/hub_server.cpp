// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/gang_hub/hub_server.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "sluice/base/error.h"
#include "sluice/base/log.h"

namespace sluice {
namespace {

constexpr double kLastWords = 5;            ///< s for a last line to be fetched
constexpr std::size_t kReadAtOnce = 65536;  ///< bytes
constexpr int kAcceptedAtOnce = 64;
constexpr int kOtherDescriptors = 64;  ///< database, log …

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses resolved(const HubAddress& at) {
    addrinfo hints{};
    hints.ai_family = at.host.empty() ? AF_INET6 : AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int error =
        ::getaddrinfo(at.host.empty() ? nullptr : at.host.c_str(), std::to_string(at.port).c_str(), &hints, &found);
    if (error != 0)
        throw ConfigError(
            fmt::format("--listen: '{}' is not an address of this host: {}", at.host, ::gai_strerror(error)));
    return {found, &::freeaddrinfo};
}

OwnedFd listening(const addrinfo& a) {
    OwnedFd fd(::socket(a.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int on = 1, off = 0;
    if (fd.get() < 0) return fd;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a.ai_family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (::bind(fd.get(), a.ai_addr, a.ai_addrlen) != 0 || ::listen(fd.get(), SOMAXCONN) != 0) return OwnedFd();
    return fd;
}

/// All addresses of both kinds, or, where there is no IPv6, of one.
OwnedFd listen_at(const HubAddress& at) {
    OwnedFd fd = listening(*resolved(at));
    if (fd.get() < 0 && at.host.empty() && errno == EAFNOSUPPORT) fd = listening(*resolved({"0.0.0.0", at.port}));
    if (fd.get() < 0)
        throw Error(fmt::format("Can't listen on port {}{}: {}; is another program there? (--port, --listen)", at.port,
                                at.host.empty() ? "" : " of " + at.host, std::strerror(errno)));
    return fd;
}

void allow_descriptors(int connections) {
    rlimit files{};
    const auto wanted = static_cast<rlim_t>(connections) + kOtherDescriptors;
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= wanted) return;
    if (files.rlim_max < wanted)
        throw ConfigError(
            fmt::format("--max_connections {}: this account may have {} open files (ulimit -n): give less", connections,
                        files.rlim_max));
    files.rlim_cur = wanted;
    ::setrlimit(RLIMIT_NOFILE, &files);
}

std::string peer_name(const sockaddr_storage& address, socklen_t size) {
    std::array<char, NI_MAXHOST> host{};
    const int error = ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host.data(), host.size(),
                                    nullptr, 0, NI_NUMERICHOST);
    return error == 0 ? host.data() : "an unknown address";
}

int port_of(int fd) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                               : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace

HubServer::HubServer(const HubAddress& address, const HubLimits& limits, const Clock& clock)
    : limits_(limits), clock_(clock) {
    allow_descriptors(limits.connections);
    listener_ = listen_at(address);
    port_ = port_of(listener_.get());
}

void HubServer::turn(double most_seconds) {
    std::vector<pollfd> polled;
    std::vector<LinkId> links;
    for (const auto& [link, c] : connections_) {
        polled.push_back({c.fd.get(), static_cast<short>(POLLIN | (c.out.empty() ? 0 : POLLOUT)), 0});
        links.push_back(link);
    }
    polled.push_back({desk_->signal(), POLLIN, 0});
    const bool accepting = clock_.now() >= accept_from_;
    if (accepting) polled.push_back({listener_.get(), POLLIN, 0});
    const int ready = ::poll(polled.data(), polled.size(), static_cast<int>(most_seconds * 1000));
    for (std::size_t i = 0; ready > 0 && i < links.size(); ++i) {
        Connection& c = connections_.at(links[i]);
        if ((polled[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0) receive(links[i], c);
    }
    if (ready > 0 && accepting && polled.back().revents != 0) accept_new();
    for (const HubAnswer& answer : desk_->take()) hub_->answered(answer, clock_.now());
    if (second_.take(clock_.now())) hub_->tick(clock_.now());
    for (auto& [link, c] : connections_) flush(c);
    clear_away();
}

void HubServer::accept_new() {
    for (int i = 0; i < kAcceptedAtOnce; ++i) {
        sockaddr_storage address{};
        socklen_t size = sizeof address;
        OwnedFd fd(
            ::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (fd.get() < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                accept_from_ = clock_.now() + 1;
            return;
        }
        // Those that are about to be closed have descriptors, too.
        if (connections_.size() >= static_cast<std::size_t>(limits_.connections) + kOtherDescriptors / 2 &&
            !forget_the_oldest_that_closes())
            continue;
        const int on = 1;
        ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        const LinkId link = ++last_;
        connections_[link].fd = std::move(fd);
        hub_->opened(link, peer_name(address, size), clock_.now());
    }
}

/// Who is refused and does not go must not keep members out for the time of its last words.
bool HubServer::forget_the_oldest_that_closes() {
    const auto oldest =
        std::find_if(connections_.begin(), connections_.end(), [](const auto& each) { return each.second.closing; });
    if (oldest == connections_.end()) return false;
    flush(oldest->second);
    connections_.erase(oldest);
    return true;
}

void HubServer::receive(LinkId link, Connection& c) {
    std::array<char, kReadAtOnce> bytes;
    const auto n = ::recv(c.fd.get(), bytes.data(), bytes.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        c.broken = true;
        return;
    }
    if (c.closing) return;
    c.in.append(bytes.data(), static_cast<std::size_t>(n));
    take_lines(link, c);
}

void HubServer::take_lines(LinkId link, Connection& c) {
    std::size_t from = 0;
    while (!c.closing) {
        const std::size_t limit = hub_->line_limit(link);
        const std::size_t end = c.in.find('\n', from);
        const std::size_t length = (end == std::string::npos ? c.in.size() : end) - from;
        if (length > limit) {
            hub_->drop(link, fmt::format("a line may have {} bytes", limit), clock_.now());
            break;
        }
        if (end == std::string::npos) break;
        std::string_view line = std::string_view(c.in).substr(from, length);
        if (line.ends_with('\r')) line.remove_suffix(1);
        hub_->line(link, line, clock_.now());
        from = end + 1;
    }
    c.in.erase(0, c.closing ? std::string::npos : from);
}

void HubServer::flush(Connection& c) {
    while (!c.out.empty() && !c.broken) {
        const auto n = ::send(c.fd.get(), c.out.data(), c.out.size(), MSG_NOSIGNAL);
        if (n > 0)
            c.out.erase(0, static_cast<std::size_t>(n));
        else if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        else
            c.broken = true;
    }
    if (!c.closing || c.shut || c.broken) return;
    // Closed at once, with something unread, it would take the last line back.
    ::shutdown(c.fd.get(), SHUT_WR);
    c.shut = true;
}

void HubServer::clear_away() {
    std::vector<std::pair<LinkId, std::string>> gone;
    for (const auto& [link, c] : connections_) {
        if (c.closing) continue;
        if (c.broken)
            gone.emplace_back(link, "its link is broken");
        else if (c.overrun)
            gone.emplace_back(link, fmt::format("it reads too slowly: more than {} bytes wait for it", limits_.queue));
    }
    for (const auto& [link, why] : gone) hub_->drop(link, why, clock_.now());
    std::erase_if(connections_, [&](const auto& each) {
        const Connection& c = each.second;
        return c.closing && (c.broken || clock_.now() >= c.close_by);
    });
}

void HubServer::send(LinkId link, std::string_view line) {
    const auto at = connections_.find(link);
    if (at == connections_.end() || at->second.closing || at->second.overrun) return;
    at->second.out.append(line) += '\n';
    // A turn reads some of every link: what a gang of many says in it may be more, and does not wait if it is read.
    if (at->second.out.size() > limits_.queue) flush(at->second);
    at->second.overrun = at->second.out.size() > limits_.queue;
}

void HubServer::close(LinkId link) {
    const auto at = connections_.find(link);
    if (at == connections_.end()) return;
    at->second.closing = true;
    at->second.close_by = clock_.now() + kLastWords;
}

}  // namespace sluice
