// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "sched/handle/rpc.h"
#include "sched/handle/work_session.h"
#include "sluice/match/matcher.h"

namespace sluice {

/// Tells the volunteer about GPUs and drivers, and, if work was asked for and none is sent, why. Upstream's texts; what
/// binds first is said first.
void explain(const Rpc& rpc, const WorkSession& session, SchedulerReply& reply);

}  // namespace sluice
