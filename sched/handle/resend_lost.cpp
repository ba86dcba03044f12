// SPDX-License-Identifier: LGPL-3.0-or-later
// Lost jobs: the database has them on the host, and the host does not list them. They are sent again, or time out now,
// so that the transitioner makes others. The grace period is in the database's figure once, not once more for each
// resend (as upstream has it).
#include "sched/handle/resend_lost.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "sched/handle/appointments.h"
#include "sched/handle/outgoing_jobs.h"
#include "sched/rpc/messages.h"
#include "sluice/base/text.h"
#include "sluice/match/job_summary_of.h"

namespace sluice {
namespace {

constexpr std::size_t kMostPerRpc = 500;

template <typename... Args>
void debug(const Rpc& rpc, fmt::format_string<Args...> format, Args&&... args) {
    if (rpc.config.debug_resend) rpc.log.normal(format, std::forward<Args>(args)...);
}

std::vector<Id> lost_results(const Rpc& rpc) {
    std::unordered_set<std::string_view> there;
    for (const OtherResult& r : rpc.request.other_results) there.insert(r.name);
    for (const ReportedResult& r : rpc.request.results) there.insert(r.name);
    std::vector<Id> lost;
    for (const KnownResult& r : rpc.rows.known) {
        if (r.hostid != rpc.rows.host.id || r.server_state != ServerState::kInProgress || there.contains(r.name))
            continue;
        debug(rpc, "[resend] [HOST#{}] found lost [RESULT#{}]: {}", rpc.rows.host.id, r.id, r.name);
        lost.push_back(r.id);
    }
    std::sort(lost.begin(), lost.end(), std::greater<>());  // the newest first: upstream's index has them so
    return lost;
}

/// Null: it may be sent again.
const char* hopeless(const Rpc& rpc, const LostJob& job) {
    if (!job.workunit_found) return "WU not found";
    const App* app = rpc.services.tables.app(job.workunit.appid);
    if (app == nullptr || app->deprecated) return "app not found or deprecated";
    if (job.workunit.error_mask != 0) return "WU has errors or was cancelled";
    if (job.workunit.canonical_resultid != 0) return "already have canonical result";
    return nullptr;
}

struct ResendRefusal {
    const char* text = nullptr;
    Verdict verdict;  ///< of the check that refused it
};

/// The client has the job's stored deadline, without the grace period.
std::int64_t told_deadline(const Rpc& rpc, const LostJob& job) {
    return job.result.report_deadline - rpc.config.report_grace_period;
}

/// Half of the first time is given at least, but never more than `bound` from now.
std::int64_t extended_deadline(const Rpc& rpc, const LostJob& job, std::int64_t bound) {
    const std::int64_t half = rpc.now_sec + (job.result.report_deadline - job.result.sent_time) / 2;
    return std::min(std::max(told_deadline(rpc, job), half), rpc.now_sec + bound);
}

/// The deadline that the job gets; null: `why.text` says why it can't be sent again. Level 0, upstream: the job keeps
/// its deadline if it can be met, else it gets delay_bound anew; one that has passed is over. What runs beside other
/// jobs always gets delay_bound anew. Level 1: as the formula has it.
std::optional<std::int64_t> attainable(const Rpc& rpc, WorkSession& session, const LostJob& job, Chosen& chosen,
                                       ResendRefusal& why) {
    const std::int64_t left = told_deadline(rpc, job) - rpc.now_sec, whole = job.workunit.delay_bound;
    const App* app = rpc.services.tables.app(job.workunit.appid);
    std::vector<std::int64_t> bounds{left};
    if (rpc.config.compat_level > 0)
        bounds = {extended_deadline(rpc, job, whole) - rpc.now_sec};
    else if (app != nullptr && app->non_cpu_intensive)
        bounds = {whole};
    else if (left > 0 && whole != left)
        bounds.push_back(whole);
    why.text = "its deadline has passed";
    if (bounds.front() <= 0) return std::nullopt;
    for (const std::int64_t bound : bounds) {
        JobSummary summary = job_summary_of(job.workunit, job.result);
        summary.delay_bound = clamp_to_int32(bound);
        const Verdict v = session.matcher().consider(summary, JobOrigin::kResend, chosen);
        why = {reason_name(v.reason), v};
        if (v.refused() && v.reason != Reason::kDeadline && v.reason != Reason::kDeadlineOthers) return std::nullopt;
        if (v.refused()) continue;
        why.text = "can't complete in time";
        const std::int64_t room = extended_deadline(rpc, job, bound) - rpc.now_sec;
        if (chosen.estimated_runtime > static_cast<double>(room)) return std::nullopt;
        return rpc.now_sec + bound;
    }
    return std::nullopt;
}

std::optional<OutgoingJob> plan_resend(const Rpc& rpc, WorkSession& session, const LostJob& job, ResendRefusal& why) {
    Chosen chosen;
    why.text = hopeless(rpc, job);
    std::optional<std::int64_t> deadline;
    if (why.text == nullptr) deadline = attainable(rpc, session, job, chosen, why);
    std::optional<OutgoingJob> planned;
    if (deadline) {
        planned = plan_known_job(rpc, chosen, job.workunit, job.result, *deadline);
        if (const Verdict v = can_be_written(rpc, *planned); v.refused()) {
            why = {reason_name(v.reason), v};
            planned.reset();
        }
    }
    if (!planned)
        debug(rpc, "[resend] [HOST#{}] skipping [RESULT#{}]: {}", rpc.rows.host.id, job.result.id, why.text);
    else
        planned->origin = OutgoingJob::Origin::kResend;
    if (planned) begin_soon_if_appointed(rpc, job.workunit, *planned);
    return planned;
}

void let_expire(const HandOut& out, const LostJob& job, const ResendRefusal& why) {
    const Rpc& rpc = out.rpc;
    if (is_about_documents(why.verdict.reason)) {
        count_refusal(out.decision, why.verdict, job_summary_of(job.workunit, job.result));
        rpc.log.critical("[HOST#{}] lost [RESULT#{} {}] [WU#{} {}] can't be sent again ({}): it times out now",
                         rpc.rows.host.id, job.result.id, job.result.name, job.workunit.id, job.workunit.name,
                         why.text);
    }
    SendWrite write;
    write.id = job.result.id;
    write.workunit_id = job.result.workunitid;
    write.resend = true;
    write.report_deadline = rpc.now_sec - 1 + rpc.config.report_grace_period;
    write.sent_time = job.result.sent_time;
    write.flops_estimate = job.result.flops_estimate;
    write.app_version_id = job.result.app_version_id;
    out.writes.expired.push_back(write);
    out.reply.say(messages::not_resent_expired(job.result.name));
}

/// A result came twice: the last reply may have been lost.
bool reported_twice(const Rpc& rpc) {
    const auto& reported = rpc.request.results;
    const auto most = rpc.config.report_max > 0 ? static_cast<std::size_t>(rpc.config.report_max) : reported.size();
    return std::any_of(
        reported.begin(), reported.begin() + static_cast<std::ptrdiff_t>(std::min(most, reported.size())),
        [&](const auto& r) {
            const KnownResult* known = rpc.rows.known_result(r.name);
            return known != nullptr && known->server_state == ServerState::kOver && known->outcome == Outcome::kSuccess;
        });
}

}  // namespace

bool may_resend(const Rpc& rpc) {
    const SchedulerRequest& r = rpc.request;
    if (!may_send_work(rpc) || !r.has_other_results || r.other_results_truncated || r.results_truncated) return false;
    // Results beyond report_max are on the host too, and not among other_results.
    if (rpc.config.report_max > 0 && r.results.size() > static_cast<std::size_t>(rpc.config.report_max)) return false;
    // Upstream lets a client that asks for nothing wait for its lost jobs until it asks, or they time out.
    return !r.dont_send_work && (rpc.config.resend_lost_results || !r.results.empty());
}

bool resend_lost_jobs(const HandOut& out, WorkSession& session) {
    const Rpc& rpc = out.rpc;
    if (!may_resend(rpc) || !(rpc.config.resend_lost_results || reported_twice(rpc))) return false;
    std::vector<Id> lost = lost_results(rpc);
    if (lost.size() > kMostPerRpc) lost.resize(kMostPerRpc);
    if (lost.empty()) return false;
    // Upstream sends as many as are asked for, and the rest with the next requests. Level 1: all, whatever is asked
    // for.
    std::optional<WorkSession> all;
    if (rpc.config.compat_level > 0 && rpc.screening.wants_work) all.emplace(rpc, true);
    WorkSession& s = all ? *all : session;
    bool any = false;
    for (const LostJob& job : rpc.services.stores.results.lost_jobs(lost)) {
        if (!s.matcher().work_needed()) break;
        ResendRefusal why;
        auto planned = plan_resend(rpc, s, job, why);
        if (!planned) {
            let_expire(out, job, why);
            continue;
        }
        s.matcher().account(planned->chosen);
        if (rpc.config.debug_send)
            rpc.log.normal("[send] [RESULT#{}] [HOST#{}] (resend lost work)", job.result.id, rpc.rows.host.id);
        out.reply.say(messages::resent(job.result.name));
        out.decision.jobs.push_back(std::move(*planned));
        any = true;
    }
    if (all) all->log_trace();
    return any;
}

}  // namespace sluice
