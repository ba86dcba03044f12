// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/handle/no_work_messages.h"

#include <algorithm>
#include <iterator>

#include "sched/rpc/messages.h"
#include "sluice/match/buda.h"
#include "sluice/match/policies.h"
#include "sluice/match/reasons.h"

namespace sluice {
namespace {

struct NoWorkText {
    const Rpc& rpc;
    const HostFacts& host;
    const MatchStats& stats;
    SchedulerReply& reply;
    std::array<bool, kProcTypes> project_types;

    bool happened(Reason r) const { return stats.reasons[static_cast<std::size_t>(r)].count > 0; }
    const App* app(Id id) const { return rpc.services.tables.app(id); }
    void gpus();
    void gpu_properties(const Coproc& gpu);
    void obstacle(const Obstacle& o);
    void obstacles(Reason r);
    void refusal(Reason r);
    void why_nothing();
    void applications();
    void quota();
    void no_version();
    /// Several reasons share a text, and two jobs may miss by figures that read the same.
    void say_once(ReplyMessage message);
};

void NoWorkText::say_once(ReplyMessage message) {
    const auto& said = reply.messages;
    if (std::none_of(said.begin(), said.end(), [&](const ReplyMessage& m) { return m.text == message.text; }))
        reply.say(std::move(message));
}

double memory_of(const Coproc& gpu) { return gpu.total_ram > 0 ? gpu.total_ram : gpu.opencl.global_mem_size; }
int driver_of(const Coproc& gpu) {
    if (gpu.proc_type == ProcType::kNvidia) return gpu.driver_version;
    return gpu.proc_type == ProcType::kAmd ? gpu.cal_version : 0;
}

void NoWorkText::gpu_properties(const Coproc& gpu) {
    const GpuDemand& d = stats.gpu_demands[static_cast<std::size_t>(gpu.proc_type)];
    const char* name = proc_type_user_name(gpu.proc_type);
    const auto mb = [](double bytes) { return static_cast<int>(bytes / (1024 * 1024)); };
    const int driver = driver_of(gpu);
    if (memory_of(gpu) < d.min_ram)
        reply.say(messages::gpu_needs_ram(mb(d.min_ram), mb(d.all_ram), name));
    else if (driver != 0 && driver < d.min_driver)
        reply.say(messages::gpu_needs_driver(name));
    else if (driver != 0 && driver < d.all_drivers)
        reply.say(messages::gpu_driver_for_all_apps(name));
}

/// Of no use to anonymous platform: it brings its own versions.
void NoWorkText::gpus() {
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
            reply.say(messages::newer_client_for_nvidia());
    if (!project_types[0] && !gpu_types.empty() && !usable) reply.say(messages::gpu_required(gpu_types));
    for (const ProcType type : gpu_types)
        for (const Coproc& c : host.coprocs)
            if (c.proc_type == type && c.count > 0) gpu_properties(c);
}

/// Upstream's "no-work messages", notices that name what the volunteer could change.
void NoWorkText::obstacle(const Obstacle& o) {
    const Verdict& v = o.verdict;
    const App* of = app(o.appid);
    if (v.words != nullptr) {
        say_once(messages::feasibility(v.words));
        return;
    }
    const VolunteerNotice told = reason_row(v.reason).told;
    if (told == VolunteerNotice::kKeywords) say_once(messages::ruled_out_by_keywords());
    if (told == VolunteerNotice::kQuota) say_once(messages::daily_limit_reached(static_cast<int>(v.required)));
    if (of == nullptr) return;
    const std::string& name = of->user_friendly_name;
    if (told == VolunteerNotice::kMemory) say_once(messages::needs_ram(name, v.required, v.value));
    if (told == VolunteerNotice::kDisk) say_once(messages::needs_disk(name, v.required, v.value));
    if (told == VolunteerNotice::kBandwidth) say_once(messages::needs_bandwidth(name, v.required, v.value));
    if (told == VolunteerNotice::kNoVersion) say_once(messages::no_usable_anonymous_version(name));
}

void NoWorkText::applications() {
    const auto& with_jobs = stats.apps_with_jobs;
    bool any = false, named = false;
    for (const Id id : rpc.prefs.user.selected_apps) {
        const bool has_jobs = std::find(with_jobs.begin(), with_jobs.end(), id) != with_jobs.end();
        any |= has_jobs;
        if (const App* known = app(id); known != nullptr && !has_jobs)
            say_once(messages::no_tasks_for_app(known->user_friendly_name)), named = true;
    }
    // Upstream: with the old policy only, and beside the lines that say the same of each app.
    const bool says_so = rpc.config.sched_old || (rpc.config.compat_level > 0 && !named);
    if (says_so && happened(Reason::kAppNotSelected) && !any) reply.say(messages::no_tasks_for_selected_apps());
}

/// Of one reason, by app: they were found from a random slot on.
void NoWorkText::obstacles(Reason r) {
    std::vector<Obstacle> of_reason;
    std::ranges::copy_if(stats.obstacles, std::back_inserter(of_reason),
                         [&](const Obstacle& o) { return o.verdict.reason == r; });
    std::ranges::stable_sort(of_reason, {}, &Obstacle::appid);
    for (const Obstacle& o : of_reason) obstacle(o);
}

/// Both lines are upstream's; in its second it has the figure for one processor, as if that were the limit.
void NoWorkText::quota() {
    obstacles(Reason::kDailyQuota);
    for (const Obstacle& o : stats.obstacles)
        if (o.verdict.reason == Reason::kDailyQuota) {
            say_once(messages::daily_quota_finished(static_cast<int>(o.verdict.required)));
            return;
        }
}

/// Upstream has no word for that, nor for tasks that no resource is asked for. A version that is only missing for one
/// of the resources asked for says nothing.
void NoWorkText::no_version() {
    if (host.anonymous) return obstacles(Reason::kNoAppVersion);
    if (reason_row(binding_order(stats).front()).told != VolunteerNotice::kNoVersion || rpc.rows.platforms.empty())
        return;
    const ProjectTables& t = rpc.services.tables;
    const bool any = std::any_of(t.versions.begin(), t.versions.end(), [&](const AppVersion& v) {
        const Platform* p = t.platform(v.platformid);
        return p != nullptr &&
               std::find(rpc.rows.platforms.begin(), rpc.rows.platforms.end(), p->name) != rpc.rows.platforms.end();
    });
    say_once(any ? messages::no_version_for_request() : messages::no_version_for_platform(rpc.rows.platforms.front()));
}

/// What stood in the way, in the words of upstream's explanations.
void NoWorkText::refusal(Reason r) {
    switch (reason_row(r).told) {
        case VolunteerNotice::kDeadline:
            say_once(messages::wont_finish_in_time(host.client_version, host.row.on_frac, host.row.active_frac));
            break;
        case VolunteerNotice::kCommitted: say_once(messages::committed_to_other_platforms()); break;
        case VolunteerNotice::kHostClass: say_once(messages::computer_type_not_supported()); break;
        case VolunteerNotice::kQuota: quota(); break;
        case VolunteerNotice::kNoVersion: no_version(); break;
        case VolunteerNotice::kPlanClassName: say_once(messages::gpu_versions_are_hidden()); break;
        case VolunteerNotice::kInProgress: say_once(messages::in_progress_limit()); break;
        default: obstacles(r);
    }
}

/// What binds is said first (upstream's order is fixed, limits last); apps and preferences as such come after.
void NoWorkText::why_nothing() {
    reply.say(messages::no_tasks_sent());
    for (const Reason r : binding_order(stats)) refusal(r);
    applications();
    for (const Obstacle& o : stats.obstacles) obstacle(o);  // of versions and lost jobs: no job was refused for them
    for (int t = 0; t < kProcTypes; ++t)
        if (rpc.prefs.user.dont_use[static_cast<std::size_t>(t)] && project_types[static_cast<std::size_t>(t)])
            reply.say(messages::resource_refused_by_prefs(static_cast<ProcType>(t)));
}

/// Upstream explains only to requests with work_req_seconds: GPU-only requests of new clients get no word.
bool asked_for_work(const SchedulerRequest& r, const WorkRequest& w) {
    return r.work_req_seconds > 0 || std::any_of(w.seconds.begin(), w.seconds.end(), [](double s) { return s > 0; });
}

}  // namespace

void explain(const Rpc& rpc, const WorkSession& session, SchedulerReply& reply) {
    constexpr int kByGpuType = 1;  // what there really is, also where level 0 decides by names
    NoWorkText e{rpc, session.host(), rpc.decision.stats, reply,
                 resources_with_versions(rpc.services.tables, &rpc.services.files.buda, rpc.services.files.plan_classes,
                                         kByGpuType)};
    if (rpc.decision.jobs.empty() && asked_for_work(rpc.request, session.wanted())) e.why_nothing();
    if (!session.host().anonymous) e.gpus();
}

}  // namespace sluice
