// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "sched/handle/rpc.h"
#include "sched/handle/work_session.h"

namespace sluice {

/// Jobs meant for this host, its user or team. True: something is sent.
bool send_targeted_jobs(const HandOut& out, WorkSession& session, const std::vector<AssignedJob>& assigned);
/// Jobs that every host (of a user, of a team) gets one instance of. True: something is sent.
bool send_broadcast_jobs(const HandOut& out, WorkSession& session, const std::vector<AssignedJob>& assigned);

/// Makes the instance, and adds it to the reply; the verdict says why not. What its documents lack is logged.
Verdict send_assigned_job(const HandOut& out, WorkSession& session, const AssignedJob& job, JobOrigin origin);
/// Both kinds, in one statement; empty if the project uses neither.
std::vector<AssignedJob> read_assigned_jobs(const Rpc& rpc);
/// Does the workunit need an instance on this host? Also asked again under the workunit's lock.
bool needs_instance(const AssignedJob& job, const InstanceCounts& instances, std::int64_t now);

}  // namespace sluice
