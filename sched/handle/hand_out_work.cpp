// SPDX-License-Identifier: LGPL-3.0-or-later
// Everything about jobs in the reply: lost ones again, useless ones aborted, then new ones. Order and shortcuts are
// upstream's: a host that gets a lost or targeted job gets no others in the same RPC.
#include <algorithm>

#include "sched/handle/assigned_jobs.h"
#include "sched/handle/group_jobs.h"
#include "sched/handle/no_work_messages.h"
#include "sched/handle/planned_jobs.h"
#include "sched/handle/resend_lost.h"
#include "sched/handle/rpc.h"
#include "sched/rpc/messages.h"
#include "sluice/base/text.h"
#include "sluice/model/gang.h"

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

/// Tells the client to abort jobs whose workunit is cancelled or done with.
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

/// The volunteer's client must know the key with which this project signs its programs.
bool key_is_known(const Rpc& rpc, SchedulerReply& reply) {
    const KeyAnswer answer = answer_key(rpc.request.code_sign_key, rpc.services.files.code_sign_key,
                                        rpc.services.files.old_keys, rpc.request.client_version());
    reply.code_sign_key = answer.code_sign_key;
    reply.code_sign_key_signature = answer.signature;
    if (!answer.may_send_work) reply.say(messages::key_changed());
    return answer.may_send_work;
}

/// <min_sendwork_interval> has not passed since the last RPC.
bool too_recent(const Rpc& rpc, SchedulerReply& reply) {
    const double least = rpc.config.min_sendwork_interval;
    const double passed = rpc.now - static_cast<double>(rpc.rows.stored.rpc_time);
    if (least <= 0 || passed >= least) return false;
    const int wait = static_cast<int>(least - passed);
    rpc.log.normal("Not sending work. Last request too recent. Please wait {} seconds.", wait);
    reply.say(messages::too_recent(wait));
    reply.delay(1.01 * least);
    return true;
}

/// Every app replicates homogeneously and this host's class is unknown: nothing can be for it.
bool class_unknown_for_all(const Rpc& rpc, const HostFacts& host) {
    const auto& apps = rpc.services.tables.apps;
    if (apps.empty()) return false;
    return std::all_of(apps.begin(), apps.end(), [&](const App& app) {
        const HrType type =
            app.homogeneous_redundancy != HrType::kNone ? app.homogeneous_redundancy : rpc.services.params.project_hr();
        return (type == HrType::kFine && host.hr_class_fine == 0) ||
               (type == HrType::kCoarse && host.hr_class_coarse == 0);
    });
}

void take(const HandOut& out, MatchResult&& result) {
    const Rpc& rpc = out.rpc;
    for (Chosen& chosen : result.jobs) {
        auto planned = plan_pool_job(rpc, chosen);
        if (!planned) {
            rpc.pool->release(chosen.ref);
            continue;
        }
        if (rpc.config.debug_send)
            rpc.log.normal("[send] [HOST#{}] sending [RESULT#{} {}] (est. dur. {:.2f}s) (max time {:.2f}s)",
                           rpc.rows.host.id, chosen.job.result_id, planned->reply.result_name, chosen.estimated_runtime,
                           chosen.job.rsc_fpops_bound / std::max(chosen.version.usage.projected_flops, 1.0));
        if (rpc.config.debug_credit)
            rpc.log.normal("[credit] [RESULT#{}] sent with {:.2f} GFLOPS peak, {:.2f} GFLOPS projected",
                           chosen.job.result_id, planned->flops_estimate / 1e9,
                           chosen.version.usage.projected_flops / 1e9);
        out.decision.jobs.push_back(std::move(*planned));
    }
    if (result.stats.locked_over_limit)
        rpc.log.warning(
            "{} of {} job slots that were looked at are locked by other schedulers: the array is too small for "
            "the load; raise <shmem_work_items>, or <mm_max_locked> to silence this",
            result.stats.slots_locked, result.stats.slots_scanned);
}

/// One job of each non-CPU-intensive app that the host has none of.
void send_non_cpu_intensive(const HandOut& out, WorkSession& session) {
    const Rpc& rpc = out.rpc;
    const auto& apps = rpc.services.tables.apps;
    if (std::none_of(apps.begin(), apps.end(), [](const App& a) { return a.non_cpu_intensive; })) return;
    std::vector<Id> on_host;
    for (const OtherResult& r : rpc.request.other_results)
        if (const KnownResult* known = rpc.rows.known_result(r.name)) on_host.push_back(known->appid);
    for (const PlannedJob& job : rpc.decision.jobs) on_host.push_back(job.chosen.job.app_id);
    MatchResult result = session.matcher().match_non_cpu_intensive(on_host);
    add_stats(out.decision.stats, result.stats);
    take(out, std::move(result));
}

void log_request(const Rpc& rpc, const HostFacts& host, const WorkRequest& wanted) {
    if (!rpc.config.debug_send) return;
    rpc.log.normal("[send] {} old scheduling; {} EDF sim", rpc.config.sched_old ? "Using" : "Not using",
                   rpc.config.workload_sim ? "Using" : "Not using");
    for (int t = 0; t < kProcTypes; ++t) {
        const auto i = static_cast<std::size_t>(t);
        const auto has = [&](const Coproc& c) { return static_cast<int>(c.proc_type) == t && c.count > 0; };
        if (t == 0 || std::any_of(host.coprocs.begin(), host.coprocs.end(), has))
            rpc.log.normal("[send] {}: req {:.2f} sec, {:.2f} instances; est delay {:.2f}",
                           proc_type_name(static_cast<ProcType>(t)), wanted.seconds[i], wanted.instances[i],
                           wanted.estimated_delay[i]);
    }
    rpc.log.normal("[send] work_req_seconds: {:.2f} secs", wanted.total_seconds);
    rpc.log.normal("[send] available disk {:.2f} GB, work_buf_min {}", host.disk_available / (1024.0 * 1024 * 1024),
                   clamp_to_int32(host.work_buf_min));
    rpc.log.normal("[send] on_frac {:f} active_frac {:f} gpu_active_frac {:f}", host.row.on_frac, host.row.active_frac,
                   host.row.gpu_active_frac);
    rpc.log.normal("[send] CPU features: {}", host.cpu_features);
}

void send_work(const HandOut& out, WorkSession& session) {
    const Rpc& rpc = out.rpc;
    Decision& decision = out.decision;
    decision.search = Search::kDone;
    const auto sent_assigned = [&] {
        const std::vector<AssignedJob> assigned = read_assigned_jobs(rpc);
        decision.search = Search::kAssignedJobsSent;
        if (send_targeted_jobs(out, session, assigned)) return true;
        decision.search = Search::kOwnJobsOnly;
        if (rpc.who.account.user.seti_id != 0) return true;  // "only run jobs that are meant for my computers"
        decision.search = Search::kAssignedJobsSent;
        return send_broadcast_jobs(out, session, assigned);
    };
    if (class_unknown_for_all(rpc, session.host())) {
        decision.search = Search::kHrUnknownForAll;
        decision.stats.reasons[static_cast<std::size_t>(Reason::kHrClassUnknown)].count = 1;
    } else if (!sent_assigned()) {
        decision.search = Search::kDone;
        load_group_jobs(rpc);
        send_non_cpu_intensive(out, session);
        MatchResult result = session.matcher().match();
        if (rpc.config.debug_send_scan) rpc.log.normal("[send_scan] {}", trace_scan_line(result.stats));
        add_stats(decision.stats, result.stats);
        take(out, std::move(result));
    }
    explain(rpc, session, out.reply);
}

/// A host that is to come for a gang may ask again by then.
void let_come_for_gang(const Rpc& rpc, SchedulerReply& reply) {
    const double contact = next_gang_contact(rpc.rows.stored.gang_start, rpc.now);
    if (contact <= 0) return;
    reply.min_sendwork_interval = std::min(reply.min_sendwork_interval, contact);
    reply.request_delay = std::min(reply.request_delay, contact);
}

/// A host with jobs of planned batches is to report each as it ends: the client tells nothing before the delay is over.
void let_report_soon(const Rpc& rpc, SchedulerReply& reply) {
    constexpr double kSoon = 6;  ///< s
    const auto planned = [&](Id batch) { return plan_of_batch(rpc, batch) != nullptr; };
    const auto& known = rpc.rows.known;
    const auto& sent = rpc.decision.jobs;
    if (std::none_of(known.begin(), known.end(), [&](const KnownResult& r) { return planned(r.batch); }) &&
        std::none_of(sent.begin(), sent.end(), [&](const PlannedJob& j) { return planned(j.chosen.job.batch); }))
        return;
    reply.min_sendwork_interval = std::min(reply.min_sendwork_interval, kSoon);
    reply.request_delay = std::min(reply.request_delay, kSoon);
}

/// What is known before jobs are looked for.
Search before_search(const Rpc& rpc) {
    if (!rpc.screening.wants_work) return Search::kNotAsked;
    if (may_send_work(rpc)) return Search::kArrayEmpty;  // unless the array is searched below
    return rpc.screening.may_send_work() ? Search::kUnknownPlatform : ended_by_screening(rpc.screening);
}

}  // namespace

Stage hand_out_work(const Rpc& rpc, Decision& decision, RpcWrites& writes, SchedulerReply& reply) {
    const HandOut out{rpc, decision, writes, reply};
    log_client_files(rpc.config, rpc.rows.host.id, rpc.request.files, rpc.log);
    const bool wants = rpc.screening.wants_work;
    bool may_send = may_send_work(rpc);
    Search& search = decision.search = before_search(rpc);
    if (may_send && gang_is_due(rpc.rows.stored.gang_start, rpc.now) && key_is_known(rpc, reply) &&
        send_gang_job(out)) {
        search = Search::kAssignedJobsSent;
        abort_useless_jobs(rpc, reply);
        return Stage::kContinue;
    }
    if (may_send && (wants || may_resend(rpc))) {
        WorkSession session(rpc, !wants);
        if (wants) {
            decision.wanted = session.wanted();
            log_request(rpc, session.host(), session.wanted());
        }
        if (resend_lost_jobs(out, session)) {
            if (rpc.config.debug_send) rpc.log.normal("[send] Resent lost jobs, don't send more");
            may_send = false;
            search = Search::kLostJobsResent;
        }
        abort_useless_jobs(rpc, reply);
        if (wants && !key_is_known(rpc, reply)) {
            may_send = false;
            search = Search::kKeyUnknown;
        }
        if (wants && may_send && !rpc.screening.pool_empty) {
            if (too_recent(rpc, reply))
                search = Search::kTooRecent;
            else
                send_work(out, session);
        }
        session.log_trace();
    } else {
        abort_useless_jobs(rpc, reply);
        // A machine that can never be served need not learn the key (upstream).
        if (wants && !rpc.rows.platforms.empty()) key_is_known(rpc, reply);
    }
    if (wants && rpc.screening.pool_empty) {
        if (rpc.config.debug_send) rpc.log.normal("[send] No jobs in shmem cache");
        reply.say(messages::no_tasks_in_project());
    }
    let_report_soon(rpc, reply);
    let_come_for_gang(rpc, reply);
    return Stage::kContinue;
}

}  // namespace sluice
