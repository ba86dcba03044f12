// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/sql_proxy.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>

namespace sluice::test {
namespace {

sockaddr_un address_of(const std::filesystem::path& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.string().size() >= sizeof address.sun_path)
        throw std::runtime_error("too long for a socket: " + path.string());
    path.string().copy(address.sun_path, sizeof address.sun_path - 1);
    return address;
}

bool write_all(int fd, const char* data, std::size_t size) {
    while (size > 0) {
        const ssize_t n = ::send(fd, data, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        data += n;
        size -= static_cast<std::size_t>(n);
    }
    return true;
}

bool read_all(int fd, char* data, std::size_t size) {
    while (size > 0) {
        const ssize_t n = ::recv(fd, data, size, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        data += n;
        size -= static_cast<std::size_t>(n);
    }
    return true;
}

/// A packet of the protocol: length (3 bytes, little-endian), number, body. Empty: the connection ended.
std::string read_packet(int fd) {
    std::string packet(4, '\0');
    if (!read_all(fd, packet.data(), 4)) return {};
    const auto byte = [&](std::size_t i) { return std::size_t{static_cast<unsigned char>(packet[i])}; };
    const std::size_t length = byte(0) | byte(1) << 8 | byte(2) << 16;
    packet.resize(4 + length);
    return read_all(fd, packet.data() + 4, length) ? packet : std::string();
}

constexpr char kComQuery = 3;
bool is_statement(const std::string& packet) { return packet.size() > 5 && packet[3] == 0 && packet[4] == kComQuery; }

}  // namespace

SqlProxy::SqlProxy(std::filesystem::path server_socket, Judge judge)
    : server_socket_(std::move(server_socket)), judge_(std::move(judge)) {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = address_of(socket());
    if (::pipe(stop_) != 0 || ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_, 100) != 0)
        throw std::runtime_error("no proxy at " + socket().string());
    acceptor_ = std::thread([this] { accept_all(); });
}

SqlProxy::~SqlProxy() {
    ::close(stop_[1]);  // every poll() sees it
    acceptor_.join();
    for (std::thread& connection : connections_) connection.join();
    for (const int fd : hanging_) ::close(fd);
    ::close(listener_);
    ::close(stop_[0]);
}

void SqlProxy::accept_all() {
    for (;;) {
        std::array<pollfd, 2> fds = {{{listener_, POLLIN, 0}, {stop_[0], POLLIN, 0}}};
        if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return;
        if (fds[1].revents != 0) return;
        if (fds[0].revents == 0) continue;
        const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (client >= 0) connections_.emplace_back([this, client] { serve(client); });
    }
}

void SqlProxy::serve(int client) {
    const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = address_of(server_socket_);
    if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) relay(client, server);
    ::close(client);
    const std::lock_guard lock(open_);
    for (const int fd : hanging_)
        if (fd == server) return;
    ::close(server);
}

void SqlProxy::relay(int client, int server) {
    std::array<char, 65536> bytes{};
    for (;;) {
        std::array<pollfd, 3> fds = {{{client, POLLIN, 0}, {server, POLLIN, 0}, {stop_[0], POLLIN, 0}}};
        if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return;
        if (fds[2].revents != 0) return;
        if (fds[1].revents != 0) {
            const ssize_t n = ::recv(server, bytes.data(), bytes.size(), 0);
            if (n <= 0 || !write_all(client, bytes.data(), static_cast<std::size_t>(n))) return;
        } else if (fds[0].revents != 0 && !pass_statement(client, server)) {
            return;
        }
    }
}

bool SqlProxy::refuse(int client) const {
    const int code = refusal_;
    const std::string body =
        std::string{'\xff', static_cast<char>(code & 255), static_cast<char>(code >> 8)} + "#HY000refused by the proxy";
    const std::string packet = std::string{static_cast<char>(body.size()), 0, 0, 1} + body;
    return write_all(client, packet.data(), packet.size());
}

/// One packet from the program to the server. False: the connection ends here.
bool SqlProxy::pass_statement(int client, int server) {
    const std::string packet = read_packet(client);
    if (packet.empty()) return false;
    Action action = Action::kPass;
    if (is_statement(packet)) {
        const std::lock_guard lock(judging_);
        action = judge_(packet.substr(5), ++statements_);
        if (action != Action::kPass) ++cuts_;
    }
    switch (action) {
        case Action::kPass: return write_all(server, packet.data(), packet.size());
        case Action::kCutBefore: return false;
        case Action::kRefuse: return refuse(client);
        case Action::kRefuseAfter:
            return write_all(server, packet.data(), packet.size()) && !read_packet(server).empty() && refuse(client);
        case Action::kHang: {
            const std::lock_guard lock(open_);
            hanging_.push_back(server);
            return false;
        }
        case Action::kCutAfter: {
            char first_of_answer = 0;
            if (write_all(server, packet.data(), packet.size())) read_all(server, &first_of_answer, 1);
            return false;
        }
    }
    return false;
}

}  // namespace sluice::test
