// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The body of a scheduler request: how much of it is kept, and how long it may take.
#include <functional>
#include <string>
#include <string_view>

#include "sched/cgi/pace.h"
#include "sched/web/gateway.h"

namespace sluice {

/// Of a request whose account is not known yet at most so much is kept. Clients send their key in the first few
/// hundred bytes; preferences, host and a full work list of most of them fit, too.
inline constexpr std::size_t kBeginning = 256 * 1024;

struct RequestBody {
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
RequestBody drain(Gateway& gateway, const BodyRules& rules);

}  // namespace sluice
