// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/web/gateway.h"

#include <fcgiapp.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "sluice/base/files.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

/// For poll(); -1: without end.
int milliseconds_until(Deadline until) {
    if (until == Deadline::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3600000));
}

class CgiGateway final : public Gateway {
  public:
    using Gateway::Gateway;
    bool accept() override { return std::exchange(first_, false); }
    std::string variable(const char* name) const override {
        const char* value = ::getenv(name);
        return value != nullptr ? value : "";
    }
    /// A server need not close stdin after the body: beyond CONTENT_LENGTH only what is there already is read.
    ReadResult read(char* buffer, std::size_t size, Deadline until) override {
        if (length_ == kUnknown) length_ = content_length(*this);
        const bool complete = length_ > 0 && taken_ >= length_;
        for (;;) {
            pollfd ready{STDIN_FILENO, POLLIN, 0};
            const int polled = ::poll(&ready, 1, complete ? 0 : milliseconds_until(until));
            if (polled < 0 && errno == EINTR) continue;
            if (polled == 0) return {0, !complete};
            const ssize_t n = ::read(STDIN_FILENO, buffer, size);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return {};
            taken_ += n;
            return {static_cast<std::size_t>(n), false};
        }
    }
    /// A client that went away is nobody's concern.
    void write(std::string_view text) override { write_all(STDOUT_FILENO, text); }
    void finish() override {}
    bool persistent() const override { return false; }

  private:
    static constexpr std::int64_t kUnknown = -2;
    bool first_ = true;
    std::int64_t length_ = kUnknown, taken_ = 0;
};

/// Signals wait as long as it lives.
class DelayedSignals {
  public:
    explicit DelayedSignals(const sigset_t& signals) { ::sigprocmask(SIG_BLOCK, &signals, &before_); }
    DelayedSignals(const DelayedSignals&) = delete;
    DelayedSignals& operator=(const DelayedSignals&) = delete;
    ~DelayedSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

  private:
    sigset_t before_{};
};

class FcgiGateway final : public Gateway {
  public:
    FcgiGateway(std::function<bool()> ended, std::initializer_list<int> later) : Gateway(std::move(ended)) {
        ::sigemptyset(&later_);
        for (const int signal : later) ::sigaddset(&later_, signal);
        FCGX_Init();
        FCGX_InitRequest(&request_, 0, FCGI_FAIL_ACCEPT_ON_INTR);
    }
    ~FcgiGateway() override { FCGX_Free(&request_, 1); }
    /// On a connection that the web server keeps, or a new one. libfcgi would wait there deaf to signals.
    bool accept() override {
        const auto connection = [&] { return request_.keepConnection != 0 && request_.ipcFd >= 0; };
        while (wait_for_request(connection() ? request_.ipcFd : STDIN_FILENO)) {
            errno = 0;
            if (FCGX_Accept_r(&request_) == 0) return true;
            if (errno != EINTR) break;
        }
        return false;
    }
    std::string variable(const char* name) const override {
        const char* value = FCGX_GetParam(name, request_.envp);
        return value != nullptr ? value : "";
    }
    ReadResult read(char* buffer, std::size_t size, Deadline until) override {
        const int left = std::max(milliseconds_until(until), 1);
        const timeval patience{left / 1000, left % 1000 * 1000};
        ::setsockopt(request_.ipcFd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        const int most = static_cast<int>(std::min(size, kMost));
        const DelayedSignals until_it_is_read(later_);
        const int n = FCGX_GetStr(buffer, most, request_.in);
        const bool late = n < most && FCGX_GetError(request_.in) != 0;
        return {static_cast<std::size_t>(std::max(n, 0)), late};
    }
    void write(std::string_view text) override {
        for (; !text.empty(); text.remove_prefix(std::min(text.size(), kMost)))
            if (FCGX_PutStr(text.data(), static_cast<int>(std::min(text.size(), kMost)), request_.out) < 0) return;
    }
    void finish() override { FCGX_Finish_r(&request_); }
    bool persistent() const override { return true; }

  private:
    static constexpr std::size_t kMost = 1u << 20;  ///< libfcgi counts in int
    FCGX_Request request_{};
    sigset_t later_{};
};

}  // namespace

std::int64_t content_length(const Gateway& gateway) {
    const std::string text = gateway.variable("CONTENT_LENGTH");
    return text.empty() ? -1 : parse_int(text).value_or(-1);
}

bool Gateway::wait_for_request(int fd) const {
    constexpr int kPause = 1000;  // ms; also for a signal that came just before poll()
    while (!ended_()) {
        pollfd ready{fd, POLLIN, 0};
        const int n = ::poll(&ready, 1, kPause);
        if (n > 0 || (n < 0 && errno != EINTR)) return !ended_();
    }
    return false;
}

std::unique_ptr<Gateway> make_gateway(std::function<bool()> ended, std::initializer_list<int> later) {
    if (FCGX_IsCGI()) return std::make_unique<CgiGateway>(std::move(ended));
    return std::make_unique<FcgiGateway>(std::move(ended), later);
}

}  // namespace sluice
