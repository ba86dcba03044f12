// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the acceptor knows of one connection; between its own files only.
#include <cstddef>
#include <cstdint>
#include <string>

#include "sched/cgi/acceptor.h"
#include "sched/cgi/request_body.h"

namespace sluice {

constexpr std::size_t kRead = 64 * 1024;
/// What is read while a question is under way comes on top: together at most kBeginning.
constexpr std::size_t kAskAt = kBeginning - kRead;

struct Acceptor::Connection {
    Connection(Serial s, int f, Clock::time_point now) : serial(s), fd(f), since(now), start(now) {}
    Serial serial;
    OwnedFd fd;
    fastcgi::RecordReader reader;
    Phase phase = Phase::kIdle;
    Clock::time_point since;  ///< of this phase

    // The request.
    Clock::time_point start;
    std::uint16_t id = 0;
    bool keep = false, params_ended = false, ended = false;
    HeldRequest held;
    std::size_t received = 0, allowed = kAskAt;
    std::string question;             ///< what came of GET_VALUES
    bool relay = false;               ///< it knows that its request will be served
    bool asked = false, cut = false;  ///< cut: of its body only the beginning is held
    std::string out;
    std::size_t written = 0;
};

}  // namespace sluice
