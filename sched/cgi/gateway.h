#pragma once
// One HTTP request as the web server hands it over: CGI (environment, stdin, stdout, one request a process) or FastCGI
// (libfcgi, many). The same program is both; which one is seen from the socket that it was started with.
#include <memory>
#include <string>
#include <string_view>

namespace sluice {

class Gateway {
  public:
    virtual ~Gateway() = default;
    /// Waits for the next request; false: no more.
    virtual bool accept() = 0;
    /// A variable of the request (REMOTE_ADDR …); empty if not set.
    virtual std::string variable(const char* name) const = 0;
    /// Up to `size` bytes of the body; 0 at its end.
    virtual std::size_t read(char* buffer, std::size_t size) = 0;
    virtual void write(std::string_view text) = 0;
    virtual void finish() = 0;
    virtual bool persistent() const = 0;
};

std::unique_ptr<Gateway> make_gateway();

struct Body {
    std::string text;
    bool too_long = false;  ///< `text` is only its beginning; the rest was read and thrown away
};
/// The whole body: a web server may break the connection of a program that answers before it has read everything.
Body drain(Gateway& gateway, std::size_t limit);

/// A termination signal came while a persistent program was waiting or working.
bool termination_requested();
/// CGI: SIGTERM ends at once (the database rolls back, the feeder takes back slots, the kernel frees locks).
/// FastCGI: the current request is finished first.
void handle_signals(bool persistent);

}  // namespace sluice
