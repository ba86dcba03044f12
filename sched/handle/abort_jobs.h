// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "sched/handle/rpc.h"

namespace sluice {

/// Tells the client to abort jobs whose workunit is cancelled or done with.
void abort_useless_jobs(const Rpc& rpc, SchedulerReply& reply);

}  // namespace sluice
