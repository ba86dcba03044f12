#pragma once
#include "rpc.h"
#include "sluice/match/matcher.h"
#include "work_session.h"

namespace sluice {

/// Tells the volunteer about GPUs and drivers, and, if work was asked for and none is sent, why. Upstream's texts; what
/// binds first is said first.
void explain(Rpc& rpc, const HostFacts& host, const WorkRequest& wanted, const MatchStats& stats);

}  // namespace sluice
