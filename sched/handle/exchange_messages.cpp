// Trickle messages, up and down. All are written in the RPC's transaction: an acknowledged message is stored once, and
// what goes down is marked only if the reply that carries it is on its way.
#include <algorithm>

#include "rpc.h"
#include "sluice/base/log.h"

namespace sluice {

Stage exchange_messages(Rpc& rpc) {
    constexpr std::size_t kLines = 20;  // of one request; a log is not filled by one client
    if (rpc.request.trickles.size() > kLines)
        log_normal("[HOST#{}] got {} msgs from host; the first {}:", rpc.host.id, rpc.request.trickles.size(), kLines);
    for (const TrickleUp& message : rpc.request.trickles) {
        if (rpc.writes.messages.size() < kLines) log_normal("got msg from host; variety {}", message.variety);
        rpc.writes.messages.push_back({message.variety, message.xml});
        rpc.reply.message_ack = true;
    }
    for (const PendingMessage& message : rpc.pending_messages) {
        rpc.reply.trickle_downs.push_back(message.xml);
        rpc.writes.delivered.push_back(message.id);
    }
    return Stage::kContinue;
}

}  // namespace sluice
