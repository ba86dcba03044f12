// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/relay/web_start.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>

namespace sluice::relay {

bool is_fastcgi() {
    sockaddr peer{};
    socklen_t size = sizeof peer;
    return ::getpeername(STDIN_FILENO, &peer, &size) != 0 && errno == ENOTCONN;
}

bool by_web_server() { return std::getenv("GATEWAY_INTERFACE") != nullptr || std::getenv("REQUEST_METHOD") != nullptr; }

std::string find_project() {
    const char* named = std::getenv("BOINC_PROJECT_DIR");
    if (named != nullptr && *named != '\0') return named;
    if (::access("config.xml", F_OK) == 0) return ".";
    return ::access("../config.xml", F_OK) == 0 ? ".." : "";
}

StdinBody::StdinBody(std::int64_t taken) : block_(64 * 1024, '\0'), taken_(taken) {
    const char* length = std::getenv("CONTENT_LENGTH");
    if (length != nullptr) length_ = std::max(std::atoll(length), 0LL);
}

std::string_view StdinBody::next() {
    while (!ended_) {
        // A server need not close the input after the body: beyond its length only what is there already is read.
        const bool complete = length_ > 0 && taken_ >= length_;
        const auto until = Pace().until(start_, static_cast<std::size_t>(taken_)) - Pace::Clock::now();
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until).count();
        pollfd ready{STDIN_FILENO, POLLIN, 0};
        const int polled =
            ::poll(&ready, 1, complete ? 0 : static_cast<int>(std::clamp<std::int64_t>(left, 0, 3600000)));
        if (polled < 0 && errno == EINTR) continue;
        const ssize_t n = polled > 0 ? ::read(STDIN_FILENO, block_.data(), block_.size()) : 0;
        if (n < 0 && errno == EINTR) continue;
        ended_ = n <= 0;
        if (ended_) break;
        taken_ += n;
        return {block_.data(), static_cast<std::size_t>(n)};
    }
    return {};
}

}  // namespace sluice::relay
