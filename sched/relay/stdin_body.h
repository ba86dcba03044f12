// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The body of a request as a web server gives it to a CGI program.
#include <cstdint>
#include <string>

#include "sched/cgi/pace.h"

namespace sluice::relay {

class StdinBody {
  public:
    StdinBody();
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
