// SPDX-License-Identifier: LGPL-3.0-or-later
// Trickle messages, up and down. All are written in the RPC's transaction. So an acknowledged message is stored once,
// and a message to a host is marked only with the reply that carries it.
#include <algorithm>

#include "sched/handle/rpc.h"
#include "sched/rpc/messages.h"

namespace sluice {
namespace {

/// What a host may make us store a day is bounded. A client keeps its messages until all of a request are acknowledged,
/// so that what is too much today waits there, and nothing is lost. Only a request that is too large for a whole day
/// would wait for ever: of that one the beginning is taken.
bool wait_for_tomorrow(const Rpc& rpc, SchedulerReply& reply) {
    const SchedulerRequest& r = rpc.request;
    const std::int64_t most = rpc.config.max_trickle_bytes_per_day, today = rpc.rows.host.trickle_bytes;
    const bool fits = most == 0 || today + static_cast<std::int64_t>(r.trickle_bytes) <= most;
    if ((fits && r.trickles_over == 0) || today == 0) return false;
    rpc.log.normal("[HOST#{}] {} messages ({} bytes) wait until tomorrow: of {} bytes a day {} were taken already",
                   rpc.rows.host.id, r.trickles.size() + r.trickles_over, r.trickle_bytes, most, today);
    reply.say(messages::trickles_wait());
    return true;
}

/// Likewise for all hosts of an account, which may be many. Two of them at a time may go beyond it by a request.
bool account_waits_for_tomorrow(const Rpc& rpc, RpcWrites& writes, SchedulerReply& reply) {
    const std::int64_t most = rpc.config.max_account_trickle_bytes_per_day;
    if (most == 0) return false;
    const Id user = rpc.who.account.user.id;
    writes.trickle_day = {user, (rpc.now_sec + day_offset(user)) / kDay};
    const std::int64_t today = rpc.services.stores.host_states.trickle_bytes(writes.trickle_day);
    if (today == 0 || today + static_cast<std::int64_t>(rpc.request.trickle_bytes) <= most) return false;
    rpc.log.normal(
        "[USER#{}] [HOST#{}] {} messages ({} bytes) wait until tomorrow: of {} bytes a day for an account {} "
        "were taken already",
        user, rpc.rows.host.id, rpc.request.trickles.size(), rpc.request.trickle_bytes, most, today);
    reply.say(messages::trickles_of_account_wait());
    return true;
}

void take_trickles(const Rpc& rpc, HostRows& rows, RpcWrites& writes, SchedulerReply& reply) {
    constexpr std::size_t kLines = 20;  // of one request; a log is not filled by one client
    if (rpc.request.trickles.size() > kLines)
        rpc.log.normal("[HOST#{}] got {} msgs from host; the first {}:", rpc.rows.host.id, rpc.request.trickles.size(),
                       kLines);
    for (const TrickleUp& message : rpc.request.trickles) {
        if (writes.messages.size() < kLines) rpc.log.normal("got msg from host; variety {}", message.variety);
        writes.messages.push_back({message.variety, message.xml});
    }
    rows.host.trickle_bytes += static_cast<std::int64_t>(rpc.request.trickle_bytes);
    reply.message_ack = true;
    if (rpc.request.trickles_over == 0) return;
    rpc.log.warning("[HOST#{}] {} messages dropped: one request held more than <max_trickle_bytes_per_day> {}",
                    rpc.rows.host.id, rpc.request.trickles_over, rpc.config.max_trickle_bytes_per_day);
    reply.say(messages::trickles_dropped(rpc.request.trickles_over));
}

}  // namespace

Stage exchange_messages(const Rpc& rpc, HostRows& rows, RpcWrites& writes, SchedulerReply& reply) {
    const bool any = !rpc.request.trickles.empty() || rpc.request.trickles_over > 0;
    if (any && !wait_for_tomorrow(rpc, reply) && !account_waits_for_tomorrow(rpc, writes, reply))
        take_trickles(rpc, rows, writes, reply);
    for (const PendingMessage& message : rpc.rows.pending_messages) {
        reply.trickle_downs.push_back(message.xml);
        writes.delivered.push_back(message.id);
    }
    return Stage::kContinue;
}

}  // namespace sluice
