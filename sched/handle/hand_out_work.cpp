// SPDX-License-Identifier: LGPL-3.0-or-later
// Everything about jobs in the reply: lost ones again, useless ones aborted, then new ones. Order and shortcuts are
// upstream's: a host that gets a lost or targeted job gets no others in the same RPC.
#include <algorithm>
#include <optional>
#include <span>

#include "sched/handle/appointments.h"
#include "sched/handle/assigned_jobs.h"
#include "sched/handle/group_jobs.h"
#include "sched/handle/no_work_messages.h"
#include "sched/handle/outgoing_jobs.h"
#include "sched/handle/resend_lost.h"
#include "sched/handle/rpc.h"
#include "sched/rpc/messages.h"
#include "sluice/base/text.h"
#include "sluice/model/file_transfer.h"

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
        if (r == nullptr && rpc.config.msg_to_host && may_be_file_transfer(job.name)) continue;
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
        auto planned = prepare_pool_job(rpc, chosen);
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
    for (const OutgoingJob& job : rpc.decision.jobs) on_host.push_back(job.chosen.job.app_id);
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

/// What is known before jobs are looked for.
Search before_search(const Rpc& rpc) {
    if (!rpc.screening.wants_work) return Search::kNotAsked;
    if (may_send_work(rpc)) return Search::kArrayEmpty;  // unless the array is searched below
    return rpc.screening.may_send_work() ? Search::kUnknownPlatform : ended_by_screening(rpc.screening);
}

/// What the sources of one RPC share.
struct SourceContext {
    const HandOut& out;
    const Rpc& rpc = out.rpc;
    const bool wants = rpc.screening.wants_work, may_send = may_send_work(rpc);
    std::optional<WorkSession> session = {};  ///< made by the first source that needs one
    std::vector<AssignedJob> assigned = {};   ///< read for targeted and broadcast jobs together
};

/// Where jobs of a reply come from.
struct JobSource {
    bool (*applies)(SourceContext& a);
    bool (*run)(SourceContext& a);  ///< true: no other source is asked
    Search last;                    ///< what the host is told about, if this source was the last
};

bool ask(std::span<const JobSource> sources, SourceContext& a) {
    const auto ends = std::ranges::find_if(sources, [&](const JobSource& s) { return s.applies(a) && s.run(a); });
    if (ends == sources.end()) return false;
    a.out.decision.search = ends->last;
    return true;
}

bool always(SourceContext&) { return true; }

bool has_appointment(SourceContext& a) {
    return a.may_send && appointment_is_due(a.rpc) && key_is_known(a.rpc, a.out.reply);
}
bool send_appointed(SourceContext& a) { return send_appointed_job(a.out); }

bool may_have_lost_jobs(SourceContext& a) { return a.may_send && (a.wants || may_resend(a.rpc)); }
bool send_lost_again(SourceContext& a) {
    WorkSession& session = a.session.emplace(a.rpc, !a.wants);
    if (a.wants) {
        a.out.decision.wanted = session.wanted();
        log_request(a.rpc, session.host(), session.wanted());
    }
    const bool resent = resend_lost_jobs(a.out, session);
    if (resent && a.rpc.config.debug_send) a.rpc.log.normal("[send] Resent lost jobs, don't send more");
    return resent;
}

constexpr JobSource kAppointment[] = {{has_appointment, send_appointed, Search::kAssignedJobsSent}};
constexpr JobSource kLost[] = {{may_have_lost_jobs, send_lost_again, Search::kLostJobsResent}};

bool send_targeted(SourceContext& a) {
    a.assigned = read_assigned_jobs(a.rpc);
    return send_targeted_jobs(a.out, *a.session, a.assigned);
}
/// "Only run jobs that are meant for my computers."
bool wants_own_jobs_only(SourceContext& a) { return a.rpc.who.account.user.seti_id != 0; }
bool send_broadcast(SourceContext& a) { return send_broadcast_jobs(a.out, *a.session, a.assigned); }

bool add_file_groups(SourceContext& a) { return load_group_jobs(a.rpc), false; }
bool add_non_cpu_intensive(SourceContext& a) { return send_non_cpu_intensive(a.out, *a.session), false; }
bool search_array(SourceContext& a) {
    MatchResult result = a.session->matcher().match();
    if (a.rpc.config.debug_send_scan) a.rpc.log.normal("[send_scan] {}", trace_scan_line(result.stats));
    add_stats(a.out.decision.stats, result.stats);
    take(a.out, std::move(result));
    return true;
}

/// New jobs, in upstream's order: a host that gets targeted or broadcast jobs gets no others.
constexpr JobSource kNewJobs[] = {
    {always, send_targeted, Search::kAssignedJobsSent},  //
    {wants_own_jobs_only, always, Search::kOwnJobsOnly},
    {always, send_broadcast, Search::kAssignedJobsSent},
    {always, add_file_groups, Search::kDone},
    {always, add_non_cpu_intensive, Search::kDone},
    {always, search_array, Search::kDone},
};

void send_new_jobs(SourceContext& a) {
    Decision& decision = a.out.decision;
    if (too_recent(a.rpc, a.out.reply)) {
        decision.search = Search::kTooRecent;
        return;
    }
    if (class_unknown_for_all(a.rpc, a.session->host())) {
        decision.search = Search::kHrUnknownForAll;
        decision.stats.reasons[static_cast<std::size_t>(Reason::kHrClassUnknown)].count = 1;
    } else {
        ask(kNewJobs, a);
    }
    explain(a.rpc, *a.session, a.out.reply);
}

/// A host with an appointment may ask again by then.
void let_come_to_appointment(const Rpc& rpc, SchedulerReply& reply) {
    const double wait = until_appointment(rpc);
    if (wait <= 0) return;
    reply.min_sendwork_interval = std::min(reply.min_sendwork_interval, wait);
    reply.request_delay = std::min(reply.request_delay, wait);
}

/// A host with jobs of planned batches is to report each as it ends: the client tells nothing before the delay is over.
void let_report_soon(const Rpc& rpc, SchedulerReply& reply) {
    constexpr double kSoon = 6;  ///< s
    const auto planned = [&](Id batch) { return plan_of_batch(rpc, batch) != nullptr; };
    const auto& known = rpc.rows.known;
    const auto& sent = rpc.decision.jobs;
    if (std::none_of(known.begin(), known.end(), [&](const KnownResult& r) { return planned(r.batch); }) &&
        std::none_of(sent.begin(), sent.end(), [&](const OutgoingJob& j) { return planned(j.chosen.job.batch); }))
        return;
    reply.min_sendwork_interval = std::min(reply.min_sendwork_interval, kSoon);
    reply.request_delay = std::min(reply.request_delay, kSoon);
}

}  // namespace

Stage hand_out_work(const Rpc& rpc, Decision& decision, RpcWrites& writes, SchedulerReply& reply) {
    const HandOut out{rpc, decision, writes, reply};
    log_client_files(rpc.config, rpc.rows.host.id, rpc.request.files, rpc.log);
    SourceContext asked{out};
    decision.search = before_search(rpc);
    const bool appointed = ask(kAppointment, asked);
    const bool again = !appointed && ask(kLost, asked);
    abort_useless_jobs(rpc, reply);
    if (appointed) return Stage::kContinue;
    // A machine that can never be served need not learn the key (upstream).
    const bool knows_key = !asked.wants || rpc.rows.platforms.empty() || key_is_known(rpc, reply);
    const bool may_get_new = asked.wants && asked.may_send;
    if (may_get_new && !knows_key)
        decision.search = Search::kKeyUnknown;
    else if (may_get_new && !again && !rpc.screening.pool_empty)
        send_new_jobs(asked);
    if (asked.session) asked.session->log_trace();
    if (asked.wants && rpc.screening.pool_empty) {
        if (rpc.config.debug_send) rpc.log.normal("[send] No jobs in shmem cache");
        reply.say(messages::no_tasks_in_project());
    }
    let_report_soon(rpc, reply);
    let_come_to_appointment(rpc, reply);
    return Stage::kContinue;
}

}  // namespace sluice
