// SPDX-License-Identifier: LGPL-3.0-or-later
// Reported results: which are accepted, and what is stored of them. The rules and their order: upstream behaviour. What
// upstream lacks: a result that was never sent is refused whatever its state, and the write is guarded (dispatch.cpp).
#include <algorithm>
#include <cmath>

#include "sched/handle/rpc.h"
#include "sluice/model/file_transfer.h"

namespace sluice {
namespace {

enum class Judgement { kAccept, kIgnore };

/// Names that a client makes up do not fill the log.
constexpr std::size_t kUnknownLines = 20;

void log_unknown(const Rpc& rpc, const std::string& name) {
    if (rpc.config.msg_to_host && may_be_file_transfer(name))
        rpc.log.normal("[HOST#{}] a file transfer has ended: {}", rpc.rows.host.id, name);
    else
        rpc.log.critical("[HOST#{}] [RESULT#? {}] reported result not in DB", rpc.rows.host.id, name);
}

/// Why a finished result is not taken again; null: it is (late).
const char* already_over(const KnownResult& r) {
    switch (r.outcome) {
        case Outcome::kInit: return "this result was never sent";
        case Outcome::kSuccess: return "result already reported as success";
        case Outcome::kCouldntSend: return "this result couldn't be sent";
        case Outcome::kClientError: return "result already reported as error";
        case Outcome::kDidntNeed: return "result wasn't needed";
        case Outcome::kValidateError: return "result already reported, validate error";
        case Outcome::kNoReply:
        case Outcome::kClientDetached: return nullptr;
    }
    return "unknown server outcome";
}

Judgement judge_host(const Rpc& rpc, const KnownResult& r) {
    if (r.hostid == rpc.rows.host.id) return Judgement::kAccept;
    rpc.log.critical("[HOST#{}] [RESULT#{}] [WU#{}] got result from wrong host; expected [HOST#{}]", rpc.rows.host.id,
                     r.id, r.workunitid, r.hostid);
    if (r.userid_of_host == 0) {
        rpc.log.critical("[RESULT#{}] [WU#{}] Can't lookup [HOST#{}]", r.id, r.workunitid, r.hostid);
        return Judgement::kIgnore;
    }
    if (r.userid_of_host != rpc.who.account.user.id) {
        rpc.log.critical("[USER#{}] [HOST#{}] [RESULT#{}] [WU#{}] Not even the same user; expected [USER#{}]",
                         rpc.who.account.user.id, rpc.rows.host.id, r.id, r.workunitid, r.userid_of_host);
        return Judgement::kIgnore;
    }
    rpc.log.critical("[HOST#{}] [RESULT#{}] [WU#{}] Allowing result because same USER#{}", rpc.rows.host.id, r.id,
                     r.workunitid, rpc.who.account.user.id);
    return Judgement::kAccept;
}

Judgement judge(const Rpc& rpc, const KnownResult& r) {
    if (r.server_state == ServerState::kOver) {
        if (const char* why = already_over(r)) {
            rpc.log.normal("[handle][HOST#{}][RESULT#{}][WU#{}] result already over [outcome={} validate_state={}]: {}",
                           rpc.rows.host.id, r.id, r.workunitid, static_cast<int>(r.outcome),
                           static_cast<int>(r.validate_state), why);
            return Judgement::kIgnore;
        }
    } else if (r.server_state != ServerState::kInProgress) {
        rpc.log.critical("[HOST#{}] [RESULT#{}] [WU#{}] got unexpected result: server state is {}", rpc.rows.host.id,
                         r.id, r.workunitid, static_cast<int>(r.server_state));
        return Judgement::kIgnore;
    }
    if (r.received_time != 0) {
        rpc.log.critical("[HOST#{}] [RESULT#{}] [WU#{}] already got result, at {}", rpc.rows.host.id, r.id,
                         r.workunitid, r.received_time);
        return Judgement::kIgnore;
    }
    return judge_host(rpc, r);
}

bool single_threaded(const Rpc& rpc, Id app_version_id) {
    if (app_version_id <= 0) return false;
    const AppVersion* version = rpc.services.tables.version(app_version_id);
    return version != nullptr && version->plan_class.find("mt") == std::string::npos;
}

/// Elapsed time decides credit: impossible figures are put right, in this order.
void sanitize_times(const Rpc& rpc, const KnownResult& r, ReportWrite& w) {
    if (w.elapsed_time < w.cpu_time && single_threaded(rpc, r.app_version_id)) {
        rpc.log.normal("[HOST#{}] [RESULT#{}] elapsed time {:f} < CPU {:f} for seq app; setting to CPU",
                       rpc.rows.host.id, r.id, w.elapsed_time, w.cpu_time);
        w.elapsed_time = w.cpu_time;
    }
    if (w.elapsed_time < 0) {
        rpc.log.normal("[HOST#{}] [RESULT#{}] [WU#{}] negative elapsed time: {:f}", rpc.rows.host.id, r.id,
                       r.workunitid, w.elapsed_time);
        w.elapsed_time = 0;
    }
    if (w.elapsed_time == 0 && w.cpu_time > 0) {
        rpc.log.normal("[HOST#{}] [RESULT#{}] elapsed time is zero; setting to CPU time {:f}", rpc.rows.host.id, r.id,
                       w.cpu_time);
        w.elapsed_time = w.cpu_time;
    }
    const double turnaround = static_cast<double>(rpc.now_sec - r.sent_time);
    if (turnaround < 0) {
        rpc.log.critical("[HOST#{}] [RESULT#{}] [WU#{}] inconsistent sent/received times", rpc.rows.host.id, r.id,
                         r.workunitid);
    } else if (w.elapsed_time > turnaround) {
        rpc.log.normal("[HOST#{}] [RESULT#{}] [WU#{}] impossible elapsed time: reported {:f} > turnaround {:f}",
                       rpc.rows.host.id, r.id, r.workunitid, w.elapsed_time, turnaround);
        w.elapsed_time = turnaround;
    }
    const int cpus = std::max(rpc.rows.host.p_ncpus, 1);
    if (w.cpu_time > w.elapsed_time * cpus) {
        rpc.log.normal("[HOST#{}] [RESULT#{}] [WU#{}] impossible CPU time: {:f} > {:f} * {}", rpc.rows.host.id, r.id,
                       r.workunitid, w.cpu_time, w.elapsed_time, cpus);
        w.cpu_time = w.elapsed_time * cpus;
    }
}

struct ReportTaker {
    const Rpc& rpc;
    HostRows& rows;
    RpcWrites& writes;

    void accept(const ReportedResult& said, const KnownResult& r);
    void change_quota(const KnownResult& r, bool good);
};

/// The quota of the version on this host: doubled up to the project's quota by a success, lowered by an error.
void ReportTaker::change_quota(const KnownResult& r, bool good) {
    const Id id = generalized_version_id(r.appid, r.app_version_id);
    HostAppVersion* row = rows.version_row(id);
    if (row == nullptr) {
        if (rpc.config.debug_handle_results) rpc.log.normal("[handle] No HOST_APP_VERSION for app version {}", id);
        return;
    }
    const int quota = rpc.config.daily_result_quota, before = row->max_jobs_per_day;
    int after = before;
    if (good) {
        if (before < quota) after = static_cast<int>(std::min<std::int64_t>(std::int64_t{before} * 2, quota));
    } else {
        // Without a quota there is nothing to lower; upstream leaves 1 then, which stops the host.
        after = quota > 0 ? std::max(std::min(before, quota) - 1, 1) : before;
        row->consecutive_valid = 0;
    }
    row->max_jobs_per_day = after;
    if (after != before && rpc.config.debug_quota)
        rpc.log.normal("[quota] {} max_jobs_per_day for {}: {}->{}", good ? "increasing" : "decreasing", id, before,
                       after);
    if (after != before || !good) writes.versions.push_back({id, 0, after - before, !good});
}

/// Was it the host's fault? Jobs that the project aborted, or that could not start in time, were never run and say
/// nothing of it; upstream exempts the former only.
bool counts_against_host(int exit_status) {
    return exit_status != kExitAbortedByProject && exit_status != kExitUnstartedLate;
}

void ReportTaker::accept(const ReportedResult& said, const KnownResult& r) {
    ReportWrite w;
    w.id = r.id;
    w.client_state = static_cast<ClientState>(said.client_state);
    w.cpu_time = said.cpu_time;
    w.elapsed_time = said.elapsed_time;
    w.peak_working_set_size = std::nearbyint(said.peak_working_set_size);  // whole bytes, as upstream stores them
    w.peak_swap_size = std::nearbyint(said.peak_swap_size);
    w.peak_disk_usage = std::nearbyint(said.peak_disk_usage);
    w.exit_status = said.exit_status;
    w.app_version_num = said.app_version_num;
    w.stderr_out = said.stderr_out;
    w.xml_doc_out = said.file_infos;
    w.validate_state = r.validate_state;
    sanitize_times(rpc, r, w);
    // Without an exit status nobody knows how it ended: not a success.
    const bool good = w.client_state == ClientState::kFilesUploaded && said.exit_status_given && said.exit_status == 0;
    if (rpc.config.debug_handle_results)
        rpc.log.normal("[handle] [RESULT#{}] [WU#{}]: client_state {} exit_status {}; setting outcome {}", r.id,
                       r.workunitid, said.client_state, said.exit_status, good ? "SUCCESS" : "ERROR");
    // Only of what the project has given up before is it believed that the project wants no more of it.
    const auto& config = rpc.config;
    const bool given_up = gives_up_early(config.compat_level, config.plan_batches, config.gang_hub) &&
                          r.server_state == ServerState::kOver && r.outcome == Outcome::kNoReply &&
                          said.exit_status == kExitAbortedByProject;
    w.outcome = good ? Outcome::kSuccess : given_up ? Outcome::kNoReply : Outcome::kClientError;
    if (good) {
        if (rpc.config.dont_store_success_stderr) w.stderr_out = {};
        change_quota(r, true);
    } else {
        w.validate_state = ValidateState::kInvalid;
        if (counts_against_host(said.exit_status)) change_quota(r, false);
    }
    writes.reports.results.push_back(w);
    writes.reported_workunits.push_back(r.workunitid);
}

}  // namespace

Stage record_results(const Rpc& rpc, HostRows& rows, RpcWrites& writes, SchedulerReply& reply) {
    ReportTaker taker{rpc, rows, writes};
    const auto& reported = rpc.request.results;
    const auto most = rpc.config.report_max > 0 ? static_cast<std::size_t>(rpc.config.report_max) : reported.size();
    std::vector<std::string> stored;
    std::size_t unknown = 0;
    writes.reports.teamid = rpc.who.account.user.teamid;
    writes.reports.now = rpc.now_sec;
    for (std::size_t i = 0; i < std::min(most, reported.size()); ++i) {
        const ReportedResult& said = reported[i];
        const KnownResult* r = rpc.rows.known_result(said.name);
        if (r == nullptr) {
            if (unknown++ < kUnknownLines) log_unknown(rpc, said.name);
            reply.result_acks.push_back(said.name);
        } else {
            if (rpc.config.debug_handle_results)
                rpc.log.normal(
                    "[handle] [HOST#{}] [RESULT#{}] [WU#{}] got result (DB: server_state={} outcome={} "
                    "client_state={} validate_state={} delete_state={})",
                    rpc.rows.host.id, r->id, r->workunitid, static_cast<int>(r->server_state),
                    static_cast<int>(r->outcome), static_cast<int>(r->client_state),
                    static_cast<int>(r->validate_state), static_cast<int>(r->file_delete_state));
            if (judge(rpc, *r) == Judgement::kAccept) {
                taker.accept(said, *r);
                stored.push_back(said.name);
            } else {
                reply.result_acks.push_back(said.name);
            }
        }
    }
    if (unknown > kUnknownLines)
        rpc.log.critical("[HOST#{}] {} more reported results not in DB", rpc.rows.host.id, unknown - kUnknownLines);
    // All are acknowledged: those that are stored last, as upstream does.
    reply.result_acks.insert(reply.result_acks.end(), stored.begin(), stored.end());
    return Stage::kContinue;
}

}  // namespace sluice
