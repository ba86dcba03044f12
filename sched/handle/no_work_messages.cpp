#include "no_work_messages.h"

#include <algorithm>
#include <set>

#include "sched/rpc/messages.h"
#include "sluice/base/log.h"
#include "sluice/match/policies.h"

namespace sluice {
namespace {

constexpr double kPermanentDelay = 86400;

struct Explainer {
    Rpc& rpc;
    const HostFacts& host;
    const WorkRequest& wanted;
    const MatchStats& stats;

    std::array<bool, kProcTypes> project_types{};

    const ReasonCount& count(Reason r) const { return stats.reasons[static_cast<std::size_t>(r)]; }
    bool happened(Reason r) const { return count(r).count > 0; }
    std::string app_name(Reason r) const {
        const App* app = rpc.services.tables.app(count(r).appid);
        return app != nullptr ? app->user_friendly_name : "Unknown";
    }
    void find_types();
    void gpus();
    void gpu_properties(const Coproc& gpu);
    void feasibility(Reason r);
    void refusal(Reason r);
    void why_nothing();
    void applications();
    int quota_reached() const;
    /// Several reasons share a text.
    void say_once(ReplyMessage message);
};

void Explainer::say_once(ReplyMessage message) {
    const auto& said = rpc.reply.messages;
    if (std::none_of(said.begin(), said.end(), [&](const ReplyMessage& m) { return m.text == message.text; }))
        rpc.say(std::move(message));
}

void Explainer::find_types() {
    for (const AppVersion& v : rpc.services.tables.versions)
        project_types[static_cast<std::size_t>(proc_type_of_plan_class(v.plan_class.c_str()))] = true;
}

void Explainer::gpu_properties(const Coproc& gpu) {
    const char* name = proc_type_name(gpu.proc_type);
    if (happened(Reason::kGpuMemory)) {
        const int mb = static_cast<int>(count(Reason::kGpuMemory).nearest.required / (1024 * 1024));
        rpc.say(messages::gpu_needs_ram(mb, mb, name));
    } else if (happened(Reason::kGpuDriver)) {
        rpc.say(rpc.jobs.empty() ? messages::gpu_needs_driver(name) : messages::gpu_driver_for_all_apps(name));
    }
}

/// Of no use to anonymous platform: it brings its own versions.
void Explainer::gpus() {
    std::vector<ProcType> gpu_types;
    bool usable = false;
    for (int t = 1; t < kProcTypes; ++t) {
        if (!project_types[static_cast<std::size_t>(t)]) continue;
        const auto type = static_cast<ProcType>(t);
        gpu_types.push_back(type);
        for (const Coproc& c : host.coprocs) usable |= c.proc_type == type && c.count > 0;
    }
    for (const Coproc& c : host.coprocs)
        if (c.proc_type == ProcType::kNvidia && c.count > 0 && project_types[1] && host.client_version < 61028 &&
            host.row.os_name.find("Darwin") != std::string::npos)
            rpc.say(messages::newer_client_for_nvidia());
    if (!project_types[0] && !gpu_types.empty() && !usable) rpc.say(messages::gpu_required(gpu_types));
    for (const Coproc& c : host.coprocs)
        if (c.proc_type != ProcType::kCpu && c.count > 0 && project_types[static_cast<std::size_t>(c.proc_type)])
            gpu_properties(c);
}

/// Upstream's "no-work messages", notices that name what the volunteer could change.
void Explainer::feasibility(Reason r) {
    const Verdict& v = count(r).nearest;
    switch (r) {
        case Reason::kMemory:
        case Reason::kMemorySet: rpc.say(messages::needs_ram(app_name(r), v.required, v.value)); break;
        case Reason::kDisk:
        case Reason::kDiskSet: rpc.say(messages::needs_disk(app_name(r), v.required, v.value)); break;
        case Reason::kBandwidth: rpc.say(messages::needs_bandwidth(app_name(r), v.required, v.value)); break;
        case Reason::kKeywordRefused: rpc.say(messages::ruled_out_by_keywords()); break;
        case Reason::kNoAppVersion:
            if (host.anonymous && count(r).appid != 0) rpc.say(messages::no_usable_anonymous_version(app_name(r)));
            break;
        case Reason::kVirtualBox:
            rpc.say(messages::feasibility(host.virtualbox_version.empty() ? "VirtualBox is not installed"
                                                                          : "VirtualBox is not usable"));
            break;
        case Reason::kDocker: rpc.say(messages::feasibility("Docker not present")); break;
        default: break;
    }
}

void Explainer::applications() {
    std::set<Id> blocked;  // apps that have jobs, which this host may not have
    bool of_selected_apps = false;
    for (const ReasonCount& c : stats.reasons)
        if (c.count > 0 && c.appid != 0) blocked.insert(c.appid);
    for (const Id id : rpc.user.selected_apps) {
        of_selected_apps |= blocked.contains(id);
        const App* app = rpc.services.tables.app(id);
        if (app != nullptr && !app->deprecated && !blocked.contains(id))
            rpc.say(messages::no_tasks_for_app(app->user_friendly_name));
    }
    const bool says_so = rpc.config.sched_old || rpc.config.compat_level > 0;  // upstream: the old policy only
    if (says_so && happened(Reason::kAppNotSelected) && !of_selected_apps) rpc.say(messages::no_tasks_for_selected_apps());
}

/// max_jobs_per_day of the version that has reached its limit (which is that times the processors).
int Explainer::quota_reached() const {
    const Verdict& v = count(Reason::kDailyQuota).nearest;
    for (const HostAppVersion& row : host.versions)
        if (row.max_jobs_per_day > 0 && row.n_jobs_today >= row.max_jobs_per_day && row.n_jobs_today == v.value)
            return row.max_jobs_per_day;
    return static_cast<int>(v.required);
}

/// What stood in the way, in the words of upstream's explanations.
void Explainer::refusal(Reason r) {
    switch (r) {
        case Reason::kDeadline:
        case Reason::kDeadlineOthers:
            say_once(messages::wont_finish_in_time(host.client_version, host.row.on_frac, host.row.active_frac));
            break;
        case Reason::kHrClassMismatch:
        case Reason::kHrCommittedElsewhere: say_once(messages::committed_to_other_platforms()); break;
        case Reason::kHrClassUnknown: say_once(messages::computer_type_not_supported()); break;
        case Reason::kClientTooOld:
            say_once(messages::newer_client_required());
            rpc.delay(kPermanentDelay);
            break;
        case Reason::kDailyQuota: say_once(messages::daily_quota_finished(quota_reached())); break;
        case Reason::kInProgressLimit:
        case Reason::kAppInProgressLimit:
        case Reason::kUserJobLimit: say_once(messages::in_progress_limit()); break;
        default: feasibility(r);
    }
}

/// What binds is said first (upstream's order is fixed, limits last); apps and preferences as such come after.
void Explainer::why_nothing() {
    rpc.say(messages::no_tasks_sent());
    for (const Reason r : binding_order(stats)) refusal(r);
    applications();
    for (int t = 0; t < kProcTypes; ++t)
        if (rpc.user.dont_use[static_cast<std::size_t>(t)] && project_types[static_cast<std::size_t>(t)])
            rpc.say(messages::resource_refused_by_prefs(static_cast<ProcType>(t)));
}

/// Upstream explains only to requests with work_req_seconds: GPU-only requests of new clients get no word.
bool asked_for_work(const SchedulerRequest& r, const WorkRequest& w) {
    return r.work_req_seconds > 0 || std::any_of(w.seconds.begin(), w.seconds.end(), [](double s) { return s > 0; });
}

}  // namespace

void explain(Rpc& rpc, const HostFacts& host, const WorkRequest& wanted, const MatchStats& stats) {
    Explainer e{rpc, host, wanted, stats, {}};
    e.find_types();
    if (rpc.jobs.empty() && asked_for_work(rpc.request, wanted)) e.why_nothing();
    if (!host.anonymous) e.gpus();
}

}  // namespace sluice
