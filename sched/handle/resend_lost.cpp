// Jobs that the database has on the host and the host does not list: sent again, or timed out now so that the
// transitioner makes others. The new deadline gives at least half of the first time, but never more than delay_bound
// from now; the grace period is in the database's figure once, not once more for each resend (as upstream has it).
#include <algorithm>
#include <unordered_set>

#include "lost_jobs.h"
#include "planned_jobs.h"
#include "sched/rpc/messages.h"
#include "sluice/base/log.h"

namespace sluice {
namespace {

constexpr std::size_t kMostPerRpc = 500;

template <typename... Args>
void debug(const Rpc& rpc, fmt::format_string<Args...> format, Args&&... args) {
    if (rpc.config.debug_resend) log_normal(format, std::forward<Args>(args)...);
}

std::vector<Id> lost_results(const Rpc& rpc) {
    std::unordered_set<std::string_view> there;
    for (const OtherResult& r : rpc.request.other_results) there.insert(r.name);
    for (const ReportedResult& r : rpc.request.results) there.insert(r.name);
    std::vector<Id> lost;
    for (const KnownResult& r : rpc.known) {
        if (r.hostid != rpc.host.id || r.server_state != ServerState::kInProgress || there.contains(r.name)) continue;
        debug(rpc, "[resend] [HOST#{}] found lost [RESULT#{}]: {}", rpc.host.id, r.id, r.name);
        lost.push_back(r.id);
    }
    return lost;
}

/// What the client will be told.
std::int64_t new_deadline(const Rpc& rpc, const LostJob& job) {
    const std::int64_t old = job.result.report_deadline - rpc.config.report_grace_period;
    const std::int64_t half = rpc.now_sec + (job.result.report_deadline - job.result.sent_time) / 2;
    return std::min(std::max(old, half), rpc.now_sec + job.workunit.delay_bound);
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

std::optional<PlannedJob> plan_resend(Rpc& rpc, WorkSession& session, const LostJob& job) {
    const auto give_up = [&](const char* why) {
        debug(rpc, "[resend] [HOST#{}] skipping [RESULT#{}]: {}", rpc.host.id, job.result.id, why);
        return std::nullopt;
    };
    if (const char* why = hopeless(rpc, job)) return give_up(why);
    const std::int64_t deadline = new_deadline(rpc, job);
    JobSummary summary = summary_of(job.workunit, job.result);
    summary.delay_bound = static_cast<std::int32_t>(std::max<std::int64_t>(deadline - rpc.now_sec, 0));
    Chosen chosen;
    if (const Verdict v = session.matcher().consider(summary, JobOrigin::kResend, chosen); !v)
        return give_up(reason_name(v.reason));
    if (chosen.estimated_runtime > static_cast<double>(deadline - rpc.now_sec))
        return give_up("can't complete in time");
    auto planned = plan_known_job(rpc, chosen, job.workunit, job.result, deadline);
    if (!planned) return give_up("documents can't be sent");
    planned->origin = PlannedJob::Origin::kResend;
    return planned;
}

void let_expire(Rpc& rpc, const LostJob& job) {
    SendWrite write;
    write.id = job.result.id;
    write.workunit_id = job.result.workunitid;
    write.resend = true;
    write.sent_time = job.result.sent_time;
    write.report_deadline = rpc.now_sec - 1;
    write.flops_estimate = job.result.flops_estimate;
    write.app_version_id = job.result.app_version_id;
    rpc.writes.expired.push_back(write);
    rpc.say(messages::not_resent_expired(job.result.name));
}

}  // namespace

bool may_resend(const Rpc& rpc) {
    const SchedulerRequest& r = rpc.request;
    if (!rpc.may_send_work || !r.has_other_results || r.other_results_truncated || r.results_truncated) return false;
    // Results beyond report_max are on the host too, and not among other_results.
    if (rpc.config.report_max > 0 && r.results.size() > static_cast<std::size_t>(rpc.config.report_max)) return false;
    // A client that asks for nothing keeps its lost jobs until it asks (upstream); level 1 does not wait.
    const bool asks = rpc.screening.wants_work || (rpc.config.compat_level > 0 && !r.dont_send_work);
    return asks && (rpc.config.resend_lost_results || rpc.resend_asked || !r.results.empty());
}

bool resend_lost_jobs(Rpc& rpc, WorkSession& session) {
    if (!may_resend(rpc) || !(rpc.config.resend_lost_results || rpc.resend_asked)) return false;
    std::vector<Id> lost = lost_results(rpc);
    std::reverse(lost.begin(), lost.end());  // the newest first, as upstream has them
    if (lost.size() > kMostPerRpc) lost.resize(kMostPerRpc);
    const bool regardless = rpc.config.compat_level > 0;
    bool any = false;
    for (const LostJob& job : rpc.services.stores.results.lost_jobs(lost)) {
        if (!regardless && !session.matcher().work_needed()) break;
        auto planned = plan_resend(rpc, session, job);
        if (!planned) {
            let_expire(rpc, job);
            continue;
        }
        session.matcher().account(planned->chosen);
        if (rpc.config.debug_send)
            log_normal("[send] [RESULT#{}] [HOST#{}] (resend lost work)", job.result.id, rpc.host.id);
        rpc.say(messages::resent(job.result.name));
        rpc.jobs.push_back(std::move(*planned));
        any = true;
    }
    return any;
}

}  // namespace sluice
