// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// One scheduler RPC: request text in, reply text out. Its stages: rpc.cpp (docs/ARCHITECTURE.md §6).
#include <functional>
#include <string>
#include <string_view>

#include "sched/handle/rpc_services.h"
#include "sched/rpc/reply.h"

namespace sluice {

/// A request as it came. It may be long: a stage that has no more use for it says so.
struct RequestText {
    std::string_view text;
    bool whole = true;               ///< false: only its beginning. Nothing of it may count, it can only be refused
    std::function<void()> forget{};  ///< called when `text` is needed no more
    std::function<void(std::size_t)> forget_beginning{};  ///< called when so many of its first bytes are
};

/// Never throws for anything that a client or the database does. The result is always one well-formed reply, and every
/// claimed slot is given back or empty.
std::string handle_rpc(RpcServices& services, const RequestText& request);
inline std::string handle_rpc(RpcServices& services, std::string_view text) {
    return handle_rpc(services, RequestText{text});
}

/// The same between parsing and writing, for who has no texts (sluice_sim). What the database does is handled; other
/// exceptions come through. Pointers of the reply are into `services.tables`.
SchedulerReply handle_request(RpcServices& services, const SchedulerRequest& request);

/// s after which clients are to come back while nothing can be done for them: <maintenance_delay>. Level 1, where it is
/// 0: from two to ten minutes, for each reply another time, so that they do not all come at once.
double delay_while_down(const ProjectConfig& config, Rng& rng);

/// The reply to a client whose request can't be handled now; it will come back after `delay` seconds.
std::string come_back_later(const ProjectConfig& config, const std::string& message, double delay);

}  // namespace sluice
