// SPDX-License-Identifier: LGPL-3.0-or-later
#include "gang_link.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace gang {
namespace {

constexpr int kAliveEvery = 20'000;  // ms; the hub gives up who says nothing for two minutes

bool starts(const std::string& line, const char* word) { return line.compare(0, std::strlen(word), word) == 0; }

std::string argument_of(int argc, char** argv, const char* option) {
    for (int i = 1; i + 1 < argc; ++i)
        if (std::strcmp(argv[i], option) == 0) return argv[i + 1];
    throw std::runtime_error(std::string(option) +
                             " is not on the command line: was the batch submitted with --gang_size?");
}

}  // namespace

Membership place_of(int argc, char** argv) {
    Membership p;
    p.gang = argument_of(argc, argv, "--gang");
    p.token = argument_of(argc, argv, "--gang_token");
    p.member = std::stoi(argument_of(argc, argv, "--gang_member"));
    p.size = std::stoi(argument_of(argc, argv, "--gang_size"));
    const std::string hub = argument_of(argc, argv, "--gang_hub");
    const auto colon = hub.rfind(':');
    if (colon == std::string::npos) throw std::runtime_error("--gang_hub is not HOST:PORT");
    p.host = hub.substr(0, colon);
    p.port = hub.substr(colon + 1);
    if (p.host.size() > 2 && p.host.front() == '[') p.host = p.host.substr(1, p.host.size() - 2);
    return p;
}

Link::Link(const Membership& place, std::int64_t newest_checkpoint) {
    connect_to(place);
    try {
        say("HELLO " + place.gang + " " + std::to_string(place.member) + " " + place.token + " " +
            std::to_string(newest_checkpoint));
        std::string line = next_line();
        if (!starts(line, "START ")) throw LinkLost("the hub said '" + line + "' instead of START");
        start_ = std::stoll(line.substr(line.rfind(' ')));
    } catch (...) {
        ::close(socket_);
        throw;
    }
}

Link::~Link() { ::close(socket_); }

void Link::connect_to(const Membership& place) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &found) != 0)
        throw LinkLost("the hub's name " + place.host + " is not known");
    for (addrinfo* a = found; a != nullptr && socket_ < 0; a = a->ai_next) {
        socket_ = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (socket_ < 0 || ::connect(socket_, a->ai_addr, a->ai_addrlen) == 0) continue;
        ::close(socket_);
        socket_ = -1;
    }
    ::freeaddrinfo(found);
    if (socket_ < 0) throw LinkLost("the hub can't be reached");
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void Link::say(const std::string& line) {
    const std::string all = line + "\n";
    for (std::size_t sent = 0; sent < all.size();) {
        const ssize_t n = ::send(socket_, all.data() + sent, all.size() - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        // The hub's last line may tell why; who reads next gets it.
        if (n < 0) return;
        sent += static_cast<std::size_t>(n);
    }
}

void Link::wait_for_bytes() {
    pollfd waiting{socket_, POLLIN, 0};
    while (::poll(&waiting, 1, kAliveEvery) <= 0) say("ALIVE");
    std::array<char, 4096> bytes;
    const ssize_t n = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (n == 0 || (n < 0 && errno != EINTR)) throw LinkLost("the link to the hub is gone");
    if (n > 0) read_.append(bytes.data(), static_cast<std::size_t>(n));
}

std::string Link::next_line() {
    std::size_t end = read_.find('\n');
    for (; end == std::string::npos; end = read_.find('\n')) wait_for_bytes();
    const std::string line = read_.substr(0, end);
    read_.erase(0, end + 1);
    if (starts(line, "REFUSED")) throw ProcessRefused(line);
    if (starts(line, "GIVEN_UP")) throw GangGivenUp(line);
    if (starts(line, "EXIT") || starts(line, "RETRY")) throw LinkLost(line);
    if (line == "END") throw Ended();
    return line;
}

}  // namespace gang
