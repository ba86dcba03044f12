// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// One HTTP request as the web server hands it over: CGI (environment, stdin, stdout, one request a process) or FastCGI
// (libfcgi, many). The same program is both; which one is seen from the socket that it was started with. The scheduler
// and the file upload handler are served by it.
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sluice {

/// Until when a read may wait.
using Deadline = std::chrono::steady_clock::time_point;

struct ReadResult {
    std::size_t bytes = 0;  ///< 0: the end, or
    bool too_late = false;  ///< nothing came in time; of FastCGI also: the web server broke off
};

/// A request that was read before it was handed over.
enum class HeldKind : std::uint32_t {
    kWhole,
    kBeginning,  ///< the rest was thrown away: it was too long, or of an account that nobody knows
    kQuestion    ///< the beginning of one that is still coming: how much of it may be kept? The reply is a number
};
struct HeldBody {
    HeldKind kind = HeldKind::kWhole;
    std::string_view text;
};

class Gateway {
  public:
    explicit Gateway(std::function<bool()> ended) : ended_(std::move(ended)) {}
    virtual ~Gateway() = default;
    /// Waits for the next request; false: no more.
    virtual bool accept() = 0;
    /// A variable of the request (REMOTE_ADDR …); empty if not set.
    virtual std::string variable(const char* name) const = 0;
    /// Up to `size` bytes of the body.
    virtual ReadResult read(char* buffer, std::size_t size, Deadline until) = 0;
    virtual void write(std::string_view text) = 0;
    virtual void finish() = 0;
    virtual bool persistent() const = 0;
    /// nullopt: the body is to be read.
    virtual std::optional<HeldBody> held() const { return std::nullopt; }
    /// What held() returned is needed no more.
    virtual void release_held() {}
    /// Its first `bytes` need not be in memory any longer; who looks at them all the same finds them.
    virtual void page_out_held(std::size_t) {}

  protected:
    /// Until something can be read from `fd`; false: there are to be no more requests.
    bool wait_for_request(int fd) const;

  private:
    std::function<bool()> ended_;
};

/// What the web server was told of the body's length; -1: nothing. An input filter may make more of it.
std::int64_t content_length(const Gateway& gateway);

/// `ended`: looked at while it waits for a request, at each signal and once a second: true, there is to be no other
/// one. `later`: signals that wait while FastCGI reads a body, for a read with a time limit is not begun anew when one
/// interrupts it, and libfcgi takes that for the end of the request.
std::unique_ptr<Gateway> make_gateway(std::function<bool()> ended, std::initializer_list<int> later);

}  // namespace sluice
