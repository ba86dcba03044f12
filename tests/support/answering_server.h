// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "sluice/base/files.h"

namespace sluice::test {

/// A scheduler's and an upload handler's in one.
inline const std::string kGoodReplies =
    "<scheduler_reply>\n</scheduler_reply>\n<data_server_reply>\n<status>0</status>\n</data_server_reply>\n";

/// Stands for the web server: takes connections and says to each what it is told to.
class AnsweringServer {
  public:
    AnsweringServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        if (::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
            ::listen(socket_.get(), 16) != 0 ||
            ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
            throw std::runtime_error("no port");
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { serve(); });
    }
    ~AnsweringServer() {
        ::shutdown(socket_.get(), SHUT_RDWR);
        thread_.join();
    }
    int port() const { return port_; }
    void say(const std::string& body) {
        const std::lock_guard lock(mutex_);
        body_ = body;
    }

  private:
    void serve() {
        for (;;) {
            const OwnedFd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (client.get() < 0) return;
            char request[1000];
            if (::read(client.get(), request, sizeof request) <= 0) continue;
            const std::lock_guard lock(mutex_);
            write_all(client.get(), body_);
        }
    }
    OwnedFd socket_;
    int port_ = 0;
    std::mutex mutex_;
    std::string body_ = "HTTP/1.0 200 OK\r\n\r\n" + kGoodReplies;
    std::thread thread_;
};

}  // namespace sluice::test
