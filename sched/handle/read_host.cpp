// The reads of an RPC once the host is known: messages that wait for it and verdicts on it, where there may be any (its
// host_app_version rows came with its own), and every result that the request or the database connects with it. Two
// statements at most, whatever the numbers.
#include <algorithm>
#include <unordered_set>

#include "lost_jobs.h"
#include "rpc.h"
#include "sluice/base/log.h"

namespace sluice {
namespace {

bool turnaround_matters(const Rpc& rpc) {
    return rpc.services.tables.has_turnaround_verdicts && rpc.config.compat_level > 0 && rpc.config.batch_accel &&
           rpc.screening.wants_work;
}

void read_state(Rpc& rpc) {
    HostState state =
        rpc.services.stores.host_states.load(rpc.host.id, rpc.config.msg_to_host, turnaround_matters(rpc));
    rpc.versions = std::move(state.versions);
    rpc.low_turnaround_versions = std::move(state.low_turnaround);
    rpc.pending_messages = std::move(state.messages);
}

bool another_day(const Rpc& rpc) {
    const std::int64_t offset = day_offset(rpc.host.id);
    return (rpc.stored.rpc_time + offset) / kDay != (rpc.now_sec + offset) / kDay;
}

/// Daily quotas: a row that never had one gets it, a new day counts from 0.
void start_quotas(Rpc& rpc) {
    rpc.new_day = another_day(rpc);
    if (rpc.new_day) rpc.host.trickle_bytes = 0;
    const int quota = rpc.config.daily_result_quota;
    for (HostAppVersion& v : rpc.versions) {
        VersionChange change{v.app_version_id, 0, 0, false};
        if (quota > 0 && v.max_jobs_per_day == 0) {
            if (rpc.config.debug_quota)
                log_normal("[quota] [HAV#{}] Initializing max_results_day to {}", v.app_version_id, quota);
            change.max_jobs_per_day = v.max_jobs_per_day = quota;
        }
        const bool reset = rpc.new_day && v.n_jobs_today != 0;
        if (reset && rpc.config.debug_quota)
            log_normal("[quota] [HOST#{}] [HAV#{}] Resetting n_jobs_today", rpc.host.id, v.app_version_id);
        if (rpc.new_day) v.n_jobs_today = 0;
        if (reset || change.max_jobs_per_day != 0) rpc.writes.versions.push_back(change);
    }
}

bool other_results_matter(const Rpc& rpc) {
    if (!rpc.request.has_other_results) return false;
    if (rpc.config.send_result_abort && !rpc.request.other_results_truncated) return true;
    if (rpc.config.compat_level > 0 && rpc.screening.wants_work) return true;  // the memory that they take
    const auto& apps = rpc.services.tables.apps;
    return rpc.screening.wants_work &&
           std::any_of(apps.begin(), apps.end(), [](const App& a) { return a.non_cpu_intensive; });
}

void read_results(Rpc& rpc) {
    ResultQuery query;
    std::unordered_set<std::string> seen;
    const auto ask = [&](const std::string& name) {
        if (!name.empty() && name.size() <= 254 && seen.insert(name).second) query.names.push_back(name);
    };
    for (const ReportedResult& r : rpc.request.results) ask(r.name);
    if (other_results_matter(rpc))
        for (const OtherResult& r : rpc.request.other_results) ask(r.name);
    if (!rpc.new_host() && (rpc.abandon_jobs || may_resend(rpc))) query.in_progress_on_host = rpc.host.id;
    rpc.known = rpc.services.stores.results.load(query);
    for (std::size_t i = 0; i < rpc.known.size(); ++i) rpc.known_by_name.emplace(rpc.known[i].name, i);
}

/// The machine came back without its jobs: they are over.
void give_up_jobs(Rpc& rpc) {
    if (!rpc.abandon_jobs) return;
    for (KnownResult& r : rpc.known) {
        if (r.hostid != rpc.host.id || r.server_state != ServerState::kInProgress) continue;
        const auto& reported = rpc.request.results;
        if (std::any_of(reported.begin(), reported.end(), [&](const auto& x) { return x.name == r.name; })) continue;
        log_critical("[HOST#{}] [RESULT#{}] [WU#{}] changed CPID: marking in-progress result {} as client error!",
                     rpc.host.id, r.id, r.workunitid, r.name);
        rpc.writes.detached.push_back(r.id);
        rpc.writes.detached_workunits.push_back(r.workunitid);
        r.server_state = ServerState::kOver;
        r.outcome = Outcome::kClientDetached;
    }
}

}  // namespace

bool reads_host_state(const Rpc& rpc) { return rpc.config.msg_to_host || turnaround_matters(rpc); }

Stage read_host(Rpc& rpc) {
    if (!rpc.new_host()) {
        if (!rpc.versions_read) read_state(rpc);
        start_quotas(rpc);
    }
    read_results(rpc);
    give_up_jobs(rpc);
    return Stage::kContinue;
}

}  // namespace sluice
