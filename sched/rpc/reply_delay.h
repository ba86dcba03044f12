#pragma once
#include "sched/rpc/reply.h"

namespace sluice {

/// The <request_delay> that the reply carries, s: what the server's logic asked for, at least a little more than
/// <min_sendwork_interval>, at most two days. 0: none.
double delay_to_send(const SchedulerReply& reply);

}  // namespace sluice
