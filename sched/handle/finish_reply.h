// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "sched/handle/rpc.h"

namespace sluice {

/// After the commit: account, host, jobs and the project's files into the reply; the host's time statistics to disk.
/// Takes the texts of the jobs out of `decision`.
void finish_reply(const Rpc& rpc, Decision& decision, SchedulerReply& reply);

}  // namespace sluice
