// Trickle messages, up and down. All are written in the RPC's transaction: an acknowledged message is stored once, and
// what goes down is marked only if the reply that carries it is on its way.
#include <algorithm>

#include "rpc.h"
#include "sched/rpc/messages.h"
#include "sluice/base/log.h"

namespace sluice {
namespace {

/// What a host may make us store a day is bounded. A client keeps its messages until all of a request are acknowledged,
/// so that what is too much today waits there, and nothing is lost. Only a request that is too large for a whole day
/// would wait for ever: of that one the beginning is taken.
bool wait_for_tomorrow(Rpc& rpc) {
    const SchedulerRequest& r = rpc.request;
    const std::int64_t most = rpc.config.max_trickle_bytes_per_day, today = rpc.host.trickle_bytes;
    const bool fits = most == 0 || today + static_cast<std::int64_t>(r.trickle_bytes) <= most;
    if ((fits && r.trickles_over == 0) || today == 0) return false;
    log_normal("[HOST#{}] {} messages ({} bytes) wait until tomorrow: of {} bytes a day {} were taken already",
               rpc.host.id, r.trickles.size() + r.trickles_over, r.trickle_bytes, most, today);
    rpc.say(messages::trickles_wait());
    return true;
}

/// Likewise for all hosts of an account, which may be many. Two of them at a time may go beyond it by a request.
bool account_waits_for_tomorrow(Rpc& rpc) {
    const std::int64_t most = rpc.config.max_account_trickle_bytes_per_day;
    if (most == 0) return false;
    const Id user = rpc.account.user.id;
    rpc.writes.trickle_day = {user, (rpc.now_sec + day_offset(user)) / kDay};
    const std::int64_t today = rpc.services.stores.host_states.trickle_bytes(rpc.writes.trickle_day);
    if (today == 0 || today + static_cast<std::int64_t>(rpc.request.trickle_bytes) <= most) return false;
    log_normal(
        "[USER#{}] [HOST#{}] {} messages ({} bytes) wait until tomorrow: of {} bytes a day for an account {} "
        "were taken already",
        user, rpc.host.id, rpc.request.trickles.size(), rpc.request.trickle_bytes, most, today);
    rpc.say(messages::trickles_of_account_wait());
    return true;
}

void take_trickles(Rpc& rpc) {
    constexpr std::size_t kLines = 20;  // of one request; a log is not filled by one client
    if (rpc.request.trickles.size() > kLines)
        log_normal("[HOST#{}] got {} msgs from host; the first {}:", rpc.host.id, rpc.request.trickles.size(), kLines);
    for (const TrickleUp& message : rpc.request.trickles) {
        if (rpc.writes.messages.size() < kLines) log_normal("got msg from host; variety {}", message.variety);
        rpc.writes.messages.push_back({message.variety, message.xml});
    }
    rpc.host.trickle_bytes += static_cast<std::int64_t>(rpc.request.trickle_bytes);
    rpc.reply.message_ack = true;
    if (rpc.request.trickles_over == 0) return;
    log_warning("[HOST#{}] {} messages dropped: one request held more than <max_trickle_bytes_per_day> {}", rpc.host.id,
                rpc.request.trickles_over, rpc.config.max_trickle_bytes_per_day);
    rpc.say(messages::trickles_dropped(rpc.request.trickles_over));
}

}  // namespace

Stage exchange_messages(Rpc& rpc) {
    const bool any = !rpc.request.trickles.empty() || rpc.request.trickles_over > 0;
    if (any && !wait_for_tomorrow(rpc) && !account_waits_for_tomorrow(rpc)) take_trickles(rpc);
    for (const PendingMessage& message : rpc.pending_messages) {
        rpc.reply.trickle_downs.push_back(message.xml);
        rpc.writes.delivered.push_back(message.id);
    }
    return Stage::kContinue;
}

}  // namespace sluice
