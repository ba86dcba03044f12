#include "gateway.h"

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

#include "sluice/base/text.h"
#include "sluice/base/write_all.h"

namespace sluice {
namespace {

volatile sig_atomic_t terminating = 0;

std::int64_t content_length(const Gateway& gateway) {
    const std::string text = gateway.variable("CONTENT_LENGTH");
    return text.empty() ? -1 : parse_int(text).value_or(-1);
}

/// For poll(); -1: without end.
int milliseconds_until(Deadline until) {
    if (until == Deadline::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3600000));
}

class CgiGateway final : public Gateway {
  public:
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

/// The signals that end a FastCGI program wait. A read with a time limit is not begun anew when one interrupts it, and
/// libfcgi takes that for the end of the request.
class EndLater {
  public:
    EndLater() {
        sigset_t ends;
        sigemptyset(&ends);
        for (const int signal : {SIGTERM, SIGINT}) sigaddset(&ends, signal);
        ::sigprocmask(SIG_BLOCK, &ends, &before_);
    }
    EndLater(const EndLater&) = delete;
    EndLater& operator=(const EndLater&) = delete;
    ~EndLater() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

  private:
    sigset_t before_{};
};

class FcgiGateway final : public Gateway {
  public:
    FcgiGateway() {
        FCGX_Init();
        FCGX_InitRequest(&request_, 0, FCGI_FAIL_ACCEPT_ON_INTR);
    }
    ~FcgiGateway() override { FCGX_Free(&request_, 1); }
    /// On a connection that the web server keeps, or a new one. libfcgi would wait there deaf to signals.
    bool accept() override {
        const bool kept = request_.keepConnection != 0 && request_.ipcFd >= 0;
        return wait_for_request(kept ? request_.ipcFd : STDIN_FILENO) && FCGX_Accept_r(&request_) == 0;
    }
    std::string variable(const char* name) const override {
        const char* value = FCGX_GetParam(name, request_.envp);
        return value != nullptr ? value : "";
    }
    ReadResult read(char* buffer, std::size_t size, Deadline until) override {
        const int left = std::max(milliseconds_until(until), 1);
        const timeval patience{left / 1000, left % 1000 * 1000};
        ::setsockopt(request_.ipcFd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        const EndLater until_it_is_read;
        const int n = FCGX_GetStr(buffer, static_cast<int>(size), request_.in);
        const bool late = n < static_cast<int>(size) && FCGX_GetError(request_.in) != 0;
        return {static_cast<std::size_t>(std::max(n, 0)), late};
    }
    void write(std::string_view text) override {
        constexpr std::size_t kMost = 1u << 20;
        for (; !text.empty(); text.remove_prefix(std::min(text.size(), kMost)))
            if (FCGX_PutStr(text.data(), static_cast<int>(std::min(text.size(), kMost)), request_.out) < 0) return;
    }
    void finish() override { FCGX_Finish_r(&request_); }
    bool persistent() const override { return true; }

  private:
    FCGX_Request request_{};
};

void die(int) { ::_exit(1); }

int nowhere = -1;  // /dev/null

/// The listening socket is put aside as well: an accept() that has not begun yet would not see the signal.
void note(int) {
    terminating = 1;
    ::dup2(nowhere, STDIN_FILENO);
}

}  // namespace

bool Gateway::wait_for_request(int fd) const {
    constexpr int kPause = 1000;  // ms; also for a signal that came just before poll()
    while (!termination_requested()) {
        pollfd ready{fd, POLLIN, 0};
        const int n = ::poll(&ready, 1, kPause);
        if (n > 0 || (n < 0 && errno != EINTR)) return !termination_requested();
    }
    return false;
}

std::unique_ptr<Gateway> make_gateway() {
    if (FCGX_IsCGI()) return std::make_unique<CgiGateway>();
    return std::make_unique<FcgiGateway>();
}

Body drain(Gateway& gateway, const BodyRules& rules) {
    Body body;
    std::size_t limit = std::min(rules.limit, kBeginning), total = 0;
    bool asked = false;
    const auto start = Pace::Clock::now();
    char block[16384];
    for (;;) {
        const auto until = rules.pace.until(start, total);
        const ReadResult got = gateway.read(block, sizeof block, until);
        body.too_slow = got.too_late || Pace::Clock::now() > until;
        if (got.bytes == 0 || body.too_slow) return body;
        total += got.bytes;
        if (total > limit && !asked) {
            asked = true;
            if (rules.limit > limit && rules.known && rules.known(body.text)) limit = rules.limit;
        }
        if (total <= limit) {
            body.text.append(block, got.bytes);
        } else if (!body.too_long) {
            body.too_long = true;
            if (body.text.size() > kBeginning) body.text = body.text.substr(0, kBeginning);
        }
    }
}

bool termination_requested() { return terminating != 0; }

void handle_signals(bool persistent) {
    struct sigaction action {};
    action.sa_handler = persistent ? note : die;
    if (persistent) {
        nowhere = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        action.sa_flags = SA_RESTART;  // a request that is being served goes on; accept() fails on what it finds now
        sigaction(SIGINT, &action, nullptr);
    }
    sigaction(SIGTERM, &action, nullptr);
    action.sa_flags = 0;
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, nullptr);
    // Tools that rotate logs send it. A moved log is noticed at the next request anyhow.
    if (persistent) sigaction(SIGHUP, &action, nullptr);
}

}  // namespace sluice
