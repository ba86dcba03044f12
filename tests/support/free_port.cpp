// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/free_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "sluice/base/files.h"

namespace sluice::test {
namespace {

constexpr int kFirstPort = 10000, kPorts = 10000;

/// Bound to an abstract name that stands for the port: the system drops it when this process ends, however it does.
OwnedFd claim_of_port(int port) {
    const std::string name = "sluice-test-port-" + std::to_string(port);
    OwnedFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path + 1, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), size) != 0) return OwnedFd();
    return fd;
}

bool nobody_listens_at(int port) {
    const OwnedFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
}

}  // namespace

int free_port() {
    static std::mutex mutex;
    static std::vector<OwnedFd> claims;
    static std::random_device random;
    const std::lock_guard lock(mutex);
    for (int attempt = 0; attempt < kPorts; ++attempt) {
        const int port = kFirstPort + static_cast<int>(random() % kPorts);
        OwnedFd claim = claim_of_port(port);
        if (claim.get() < 0 || !nobody_listens_at(port)) continue;
        claims.push_back(std::move(claim));
        return port;
    }
    throw std::runtime_error("no free loopback port");
}

}  // namespace sluice::test
