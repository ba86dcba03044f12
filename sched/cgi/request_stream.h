// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// `cgi --batch`: requests one behind the other on standard input, for as long as it lasts. Each is handed out as soon
// as its end tag is there, so that a program at the other end may wait for a reply before it goes on.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "sched/cgi/request_body.h"

namespace sluice {

class RequestStream {
  public:
    static constexpr std::string_view kEnd = "</scheduler_request>";

    /// Of a request longer than `limit` bytes nothing but its length is kept.
    RequestStream(Gateway& gateway, std::size_t limit) : gateway_(gateway), limit_(limit) {}

    /// The next request up to its end tag; at the end of the input what is left, if it is more than white space; then
    /// nullopt. An input without any request is one empty request.
    std::optional<Body> next();

  private:
    bool read_more();
    Body take(std::size_t n);

    Gateway& gateway_;
    std::size_t limit_;
    std::string read_;          ///< not handed out yet
    std::size_t searched_ = 0;  ///< no end tag begins before this
    bool too_long_ = false;     ///< the beginning of this request was thrown away
    bool any_ = false, ended_ = false;
};

}  // namespace sluice
