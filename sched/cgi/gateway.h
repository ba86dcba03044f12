#pragma once
// One HTTP request as the web server hands it over: CGI (environment, stdin, stdout, one request a process) or FastCGI
// (libfcgi, many). The same program is both; which one is seen from the socket that it was started with.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "pace.h"

namespace sluice {

/// Until when a read may wait.
using Deadline = std::chrono::steady_clock::time_point;

struct ReadResult {
    std::size_t bytes = 0;  ///< 0: the end, or
    bool too_late = false;  ///< nothing came in time
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

  protected:
    /// Until something can be read from `fd`; false: a signal said that there are to be no more requests.
    bool wait_for_request(int fd) const;
};

std::unique_ptr<Gateway> make_gateway();

/// Of a request whose account is not known yet at most so much is kept. Clients send their key in the first few
/// hundred bytes; preferences, host and a full work list of most of them fit, too.
inline constexpr std::size_t kBeginning = 256 * 1024;

struct Body {
    std::string text;
    std::string_view held{};  ///< the gateway's, instead of `text`
    bool too_long = false;    ///< only its beginning; the rest was read and thrown away
    bool too_slow = false;    ///< it broke off
    std::string_view view() const { return held.empty() ? std::string_view(text) : held; }
};
struct BodyRules {
    std::size_t limit = 0;
    /// Asked once, of a body longer than kBeginning: is it of somebody who may send so much?
    std::function<bool(std::string_view beginning)> known;
    Pace pace;
};
/// The whole body: a web server may break the connection of a program that answers before it has read everything.
Body drain(Gateway& gateway, const BodyRules& rules);

/// A termination signal came while a persistent program was waiting or working.
bool termination_requested();
/// CGI: SIGTERM ends at once (the database rolls back, the feeder takes back slots, the kernel frees locks).
/// FastCGI: the current request is finished first.
void handle_signals(bool persistent);

}  // namespace sluice
