// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What is sent between the relay (sched/relay, a process a request) and the resident scheduler (`scheduler`, `cgi
// --listen`): FastCGI. Before its request the relay asks with GET_VALUES whether it will be served. If not, it has said
// nothing yet that could be done twice, and does the work in another way.
#include <string>
#include <string_view>

#include "sched/web/unix_socket.h"

namespace sluice::relay {

/// The value asked for and, where the request may follow, given in GET_VALUES_RESULT. To be changed with anything
/// below: a resident program of another version is left alone.
inline constexpr const char* kName = "SLUICE_RELAY";
inline constexpr const char* kVersion = "1";
/// In the protocol status of END_REQUEST: nothing was done, somebody else may (FCGI_OVERLOADED).
inline constexpr char kOverloaded = 2;

using sluice::kSocketFolder;  // in PROJECT
inline constexpr const char* kSocket = "scheduler.sock";
/// PROJECT/relay_only: while it exists the web server's account runs no scheduler of its own.
inline constexpr const char* kRelayOnly = "relay_only";

/// PROJECT/sluice_moving: sluice adopt or revert is at work. No program of ours hands out a job, whatever job array
/// there is, and each client is told to come back in so many s.
inline constexpr const char* kMoving = "sluice_moving";
inline constexpr int kMovingDelay = 60;

/// A variable of the scheduler that the relay becomes: the error of Resident::connect().
inline constexpr const char* kUnreached = "SLUICE_UNREACHED";

/// Variables of a request that are handed on; no other is.
inline constexpr char kVariables[][24] = {"REMOTE_ADDR", "HTTP_X_FORWARDED_FOR", "REQUEST_METHOD", "CONTENT_TYPE",
                                          "HTTP_ACCEPT", "HTTP_USER_AGENT",      "CONTENT_LENGTH"};

inline constexpr const char* kSorry = "Server error: try again later";
/// s. Between them each client is told another time: those who came in one minute do not come back in one second.
inline constexpr int kLeastSorryDelay = 60, kMostSorryDelay = 300;
/// As messages::kMaintenance.
inline constexpr const char* kMaintenance = "Project is temporarily shut down for maintenance";
/// What write_early_reply() says of that message.
inline std::string early_reply(const char* message, int delay) {
    return std::string("Content-type: text/plain\n\n<scheduler_reply>\n    <message priority=\"low\">") + message +
           "</message>\n    <request_delay>" + std::to_string(delay) +
           "</request_delay>\n    <project_is_down/>\n</scheduler_reply>\n";
}
inline std::string sorry_reply(int delay) { return early_reply(kSorry, delay); }

}  // namespace sluice::relay
