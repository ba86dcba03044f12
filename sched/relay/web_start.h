// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What a program that a web server starts for one request finds: how it was started, the project, and the body.
#include <cstdint>
#include <string>
#include <string_view>

#include "sched/cgi/pace.h"

namespace sluice::relay {

/// libfcgi's rule: the standard input of a FastCGI program is a socket that listens.
bool is_fastcgi();
bool by_web_server();
/// $BOINC_PROJECT_DIR, else "." or ".." with a config.xml; empty: neither.
std::string find_project();

/// The body of a request as a web server gives it to a CGI program.
class StdinBody {
  public:
    /// `taken`: bytes of it were read before.
    explicit StdinBody(std::int64_t taken = 0);
    /// What comes next, at most 64 KB; empty: it has ended, or comes more slowly than Pace allows. Valid until the next
    /// call.
    std::string_view next();
    bool ended() const { return ended_; }
    /// It has ended before all came that the web server was told of.
    bool broke_off() const { return ended_ && taken_ < length_; }

  private:
    std::string block_;
    std::int64_t length_ = 0, taken_ = 0;  ///< length_ 0: until the end of the input
    bool ended_ = false;
    Pace::Clock::time_point start_ = Pace::Clock::now();
};

}  // namespace sluice::relay
