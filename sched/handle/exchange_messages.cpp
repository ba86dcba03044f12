// Trickle messages, up and down. All are written in the RPC's transaction: an acknowledged message is stored once, and
// what goes down is marked only if the reply that carries it is on its way.
#include <algorithm>

#include "rpc.h"
#include "sluice/base/log.h"

namespace sluice {

Stage exchange_messages(Rpc& rpc) {
    for (const TrickleUp& message : rpc.request.trickles) {
        log_normal("got msg from host; variety {}", message.variety);
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
