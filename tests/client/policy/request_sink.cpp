// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/client/policy/request_sink.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "tests/support/subprocess.h"

namespace sluice::test {
namespace {

/// True once `client` has something to read; false after ten seconds without.
bool readable(int client) {
    pollfd ready{client, POLLIN, 0};
    return ::poll(&ready, 1, 10000) == 1;
}

}  // namespace

RequestSink::RequestSink() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_, 64) != 0 || ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
        ::pipe2(stop_, O_CLOEXEC) != 0)
        throw std::runtime_error("can't listen on 127.0.0.1");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
}

RequestSink::~RequestSink() {
    ::close(stop_[1]);
    thread_.join();
    for (const int fd : held_) ::close(fd);
    ::close(stop_[0]);
    ::close(listener_);
}

void RequestSink::serve() {
    for (;;) {
        pollfd ready[2] = {{listener_, POLLIN, 0}, {stop_[0], POLLIN, 0}};
        if (::poll(ready, 2, -1) < 0) continue;
        if (ready[1].revents != 0) return;
        const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (client >= 0) take(client);
    }
}

void RequestSink::take(int client) {
    held_.push_back(client);
    std::string text;
    char buffer[8192];
    std::size_t head = std::string::npos, size = 0;
    while (head == std::string::npos || text.size() < head + 4 + size) {
        if (!readable(client)) return;
        const ssize_t n = ::read(client, buffer, sizeof buffer);
        if (n <= 0) return;
        text.append(buffer, static_cast<std::size_t>(n));
        if (head != std::string::npos || (head = text.find("\r\n\r\n")) == std::string::npos) continue;
        const auto length = text.find("Content-Length: ");
        if (length < head) size = std::strtoul(text.c_str() + length + 16, nullptr, 10);
        // A client that waits to be told so sends the body only then.
        if (text.find("Expect: 100-continue") < head && ::write(client, "HTTP/1.1 100 Continue\r\n\r\n", 25) != 25)
            return;
    }
    const auto path = text.find(' ') + 1;
    const std::lock_guard lock(mutex_);
    bodies_.emplace(text.substr(path, text.find(' ', path) - path), text.substr(head + 4));
}

std::optional<std::string> RequestSink::body(const std::string& path, double timeout) {
    std::optional<std::string> found;
    eventually(
        [&] {
            const std::lock_guard lock(mutex_);
            if (const auto it = bodies_.find(path); it != bodies_.end()) found = it->second;
            return found.has_value();
        },
        timeout);
    return found;
}

}  // namespace sluice::test
