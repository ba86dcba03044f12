// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string>

#include "sched/rpc/reply.h"

namespace sluice::rpc {

/// Apps, versions, workunits and results of the reply: each entity once, in the order of the jobs.
void write_work(std::string& out, const SchedulerReply& reply);

}  // namespace sluice::rpc
