// SPDX-License-Identifier: LGPL-3.0-or-later
// The reads of an RPC once the host is known: messages that wait for it and verdicts on it, where there may be any (its
// host_app_version rows came with its own), and every result that the request or the database connects with it. Two
// statements at most, whatever the numbers.
#include <algorithm>
#include <unordered_set>

#include "sched/handle/appointments.h"
#include "sched/handle/resend_lost.h"
#include "sched/handle/rpc.h"
#include "sched/match/planned_batch.h"

namespace sluice {
namespace {

bool turnaround_matters(const Rpc& rpc) {
    return rpc.services.tables.has_turnaround_verdicts && rpc.config.compat_level > 0 && rpc.config.batch_accel &&
           rpc.screening.wants_work;
}

void read_state(const Rpc& rpc, HostRows& rows) {
    HostState state =
        rpc.services.stores.host_states.load(rpc.rows.host.id, rpc.config.msg_to_host, turnaround_matters(rpc));
    rows.versions = std::move(state.versions);
    rows.low_turnaround_versions = std::move(state.low_turnaround);
    rows.pending_messages = std::move(state.messages);
}

bool another_day(const Rpc& rpc) {
    const std::int64_t offset = day_offset(rpc.rows.host.id);
    return (rpc.rows.stored.rpc_time + offset) / kDay != (rpc.now_sec + offset) / kDay;
}

/// Daily quotas: a row that never had one gets it before it matters, a new day counts from 0.
void start_quotas(const Rpc& rpc, HostRows& rows, RpcWrites& writes) {
    if (rows.new_day) rows.host.trickle_bytes = 0;
    const int quota = rpc.config.daily_result_quota;
    for (HostAppVersion& v : rows.versions) {
        VersionChange change{v.app_version_id, 0, 0, false};
        if (quota > 0 && v.max_jobs_per_day == 0) {
            if (rpc.config.debug_quota)
                rpc.log.normal("[quota] [HAV#{}] Initializing max_results_day to {}", v.app_version_id, quota);
            change.max_jobs_per_day = v.max_jobs_per_day = quota;
        }
        const bool reset = rows.new_day && v.n_jobs_today != 0;
        if (reset && rpc.config.debug_quota)
            rpc.log.normal("[quota] [HOST#{}] [HAV#{}] Resetting n_jobs_today", rpc.rows.host.id, v.app_version_id);
        if (rows.new_day) v.n_jobs_today = 0;
        if (reset || change.max_jobs_per_day != 0) writes.versions.push_back(change);
    }
}

bool other_results_matter(const Rpc& rpc) {
    if (!rpc.request.has_other_results) return false;
    if (rpc.config.send_result_abort && !rpc.request.other_results_truncated) return true;
    if (rpc.config.compat_level > 0 && rpc.screening.wants_work) return true;  // the memory that they take
    const auto& apps = rpc.services.tables.apps;
    if (rpc.screening.wants_work && match::batches_are_planned(rpc.services.params, rpc.services.tables))
        return true;  // which of them are tight
    return rpc.screening.wants_work &&
           std::any_of(apps.begin(), apps.end(), [](const App& a) { return a.non_cpu_intensive; });
}

void read_results(const Rpc& rpc, HostRows& rows) {
    ResultQuery query;
    std::unordered_set<std::string> seen;
    const auto ask = [&](const std::string& name) {
        if (!name.empty() && name.size() <= 254 && seen.insert(name).second) query.names.push_back(name);
    };
    for (const ReportedResult& r : rpc.request.results) ask(r.name);
    if (other_results_matter(rpc))
        for (const OtherResult& r : rpc.request.other_results) ask(r.name);
    if (!rpc.rows.is_new() && (rpc.who.abandon_jobs || may_resend(rpc))) query.in_progress_on_host = rpc.rows.host.id;
    rows.known = rpc.services.stores.results.load(query);
    for (std::size_t i = 0; i < rows.known.size(); ++i) rows.known_by_name.emplace(rows.known[i].name, i);
}

/// The machine came back without its jobs: they are over.
void give_up_jobs(const Rpc& rpc, HostRows& rows, RpcWrites& writes) {
    if (!rpc.who.abandon_jobs) return;
    for (KnownResult& r : rows.known) {
        if (r.hostid != rpc.rows.host.id || r.server_state != ServerState::kInProgress) continue;
        const auto& reported = rpc.request.results;
        if (std::any_of(reported.begin(), reported.end(), [&](const auto& x) { return x.name == r.name; })) continue;
        rpc.log.critical("[HOST#{}] [RESULT#{}] [WU#{}] changed CPID: marking in-progress result {} as client error!",
                         rpc.rows.host.id, r.id, r.workunitid, r.name);
        writes.detached.push_back(r.id);
        writes.detached_workunits.push_back(r.workunitid);
        r.server_state = ServerState::kOver;
        r.outcome = Outcome::kClientDetached;
    }
}

}  // namespace

bool versions_matter(const Rpc& rpc) {
    // As far as the request tells: platforms are not known yet. A host's appointment and its new day are neither.
    const bool lost_jobs = rpc.config.resend_lost_results && rpc.request.has_other_results;
    return rpc.screening.wants_work || !rpc.request.results.empty() || lost_jobs;
}

bool reads_host_state(const Rpc& rpc) { return rpc.config.msg_to_host || turnaround_matters(rpc); }

Stage read_host(const Rpc& rpc, HostRows& rows, RpcWrites& writes) {
    if (!rows.is_new()) {
        rows.new_day = another_day(rpc);
        const bool wanted = versions_matter(rpc) || reads_host_state(rpc) || rows.new_day || appointment_is_due(rpc);
        if (wanted && !rows.versions_read) read_state(rpc, rows);
        start_quotas(rpc, rows, writes);
    }
    read_results(rpc, rows);
    give_up_jobs(rpc, rows, writes);
    return Stage::kContinue;
}

}  // namespace sluice
