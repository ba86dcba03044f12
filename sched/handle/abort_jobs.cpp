// SPDX-License-Identifier: LGPL-3.0-or-later
// Jobs on the host that nobody needs any more. Unconditional: unknown to the database, or the workunit was cancelled.
// If not started: the workunit is assimilated, or the job timed out.
#include "sched/handle/abort_jobs.h"

#include "sched/rpc/messages.h"

namespace sluice {
namespace {

void abort_now(const Rpc& rpc, SchedulerReply& reply, const std::string& name, const char* why) {
    rpc.log.normal("[HOST#{}]: Send result_abort for result {}; reason: {}", rpc.rows.host.id, name, why);
    reply.result_aborts.push_back(name);
    reply.say(messages::no_longer_usable(name));
}

void abort_if_not_started(const Rpc& rpc, SchedulerReply& reply, const std::string& name, const char* why) {
    rpc.log.normal("[HOST#{}]: Send result_abort_if_unstarted for result {}; reason {}", rpc.rows.host.id, name, why);
    reply.result_aborts_if_not_started.push_back(name);
}

}  // namespace

void abort_useless_jobs(const Rpc& rpc, SchedulerReply& reply) {
    if (!rpc.config.send_result_abort || !rpc.request.has_other_results || rpc.request.other_results_truncated) return;
    for (const OtherResult& job : rpc.request.other_results) {
        const KnownResult* r = rpc.rows.known_result(job.name);
        const bool timed_out = r != nullptr && r->server_state == ServerState::kOver && r->outcome == Outcome::kNoReply;
        const bool on_this_host =
            r != nullptr && r->hostid == rpc.rows.host.id && (r->server_state == ServerState::kInProgress || timed_out);
        if (!on_this_host)
            abort_now(rpc, reply, job.name, "result not in request");
        else if ((r->wu_error_mask & kWuCancelled) != 0)
            abort_now(rpc, reply, job.name, "WU cancelled");
        else if (r->wu_assimilate_state == AssimilateState::kDone)
            abort_if_not_started(rpc, reply, job.name, "WU assimilated");
        else if (timed_out)
            abort_if_not_started(rpc, reply, job.name, "result timed out");
    }
}

}  // namespace sluice
