// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/replayed_hosts.h"

#include <algorithm>

#include "sched/sim/project.h"

namespace sluice::sim {
namespace {

constexpr std::uint64_t kReplayPurpose = 18;

}  // namespace

ReplayedHosts::ReplayedHosts(const Recording& recording, const Fleet& fleet, std::uint64_t seed,
                             std::vector<std::string> keys)
    : recording_(recording), fleet_(fleet) {
    for (std::string& key : keys) hosts_.push_back({std::move(key), SmallRng(seed, kReplayPurpose, hosts_.size())});
}

std::vector<double> ReplayedHosts::speeds() const {
    std::vector<double> speeds(hosts_.size());
    for (const RecordedRequest& r : recording_.requests)
        if (speeds[r.host] <= 0) speeds[r.host] = std::max(1e6, r.request.host.p_fpops) / 1e9;
    return speeds;
}

void ReplayedHosts::describe(Host& host, const SchedulerRequest& said) const {
    host.speed = std::max(1e6, said.host.p_fpops) / 1e9;
    const double part = said.has_time_stats ? said.host.on_frac * said.host.active_frac : 1;
    host.rate = std::clamp(part, 0.01, 1.0);
    host.cores = static_cast<std::size_t>(std::clamp(said.host.p_ncpus, 1, 4096));
    host.gpus = 0;
    for (const Coproc& c : said.coprocs)
        if (c.proc_type == ProcType::kNvidia) host.gpus = static_cast<std::size_t>(std::clamp(c.count, 1, 64));
}

void ReplayedHosts::schedule(Host& host, double now) const {
    for (const bool gpu : {false, true}) {
        std::vector<double> free(gpu ? std::max<std::size_t>(1, host.gpus) : host.cores, now);
        for (Job& job : host.jobs) {
            if (job.gpu != gpu || job.over(now)) continue;
            const auto first = std::min_element(free.begin(), free.end());
            if (job.end <= 0 || job.start > now) {
                job.start = *first;
                job.end = job.start + job.run_time / host.rate;
            }
            *first = job.end;
        }
    }
}

void ReplayedHosts::list_jobs(const Host& host, double now, SchedulerRequest& r) const {
    r.has_other_results = true;
    for (const Job& job : host.jobs) {
        if (!job.over(now)) {
            r.other_results.push_back({.name = job.name, .plan_class = job.plan_class});
            if (!r.has_in_progress_results) continue;
            InProgressResult& p = r.in_progress.emplace_back();
            p.name = job.name, p.report_deadline = job.deadline;
            p.remaining = std::min(job.run_time, (job.end - now) * host.rate);
            continue;
        }
        const double run_time = job.given_up || job.cancelled ? 0 : job.run_time;
        r.results.push_back(report_of(job.name, run_time, {job.given_up, job.fails, job.wrong, job.cancelled}));
    }
}

void ReplayedHosts::take(Host& host, const SchedulerReply& reply, double now, ClientWorld& world) const {
    if (reply.send_hostid) {
        host.id = reply.host.id;
        host.seqno = 0;
    }
    for (const std::string& name : reply.result_acks)
        std::erase_if(host.jobs, [&](const Job& job) { return job.name == name; });
    const auto cancel = [&](const std::vector<std::string>& names, bool only_unstarted) {
        for (const std::string& name : names)
            for (Job& job : host.jobs) {
                if (job.name != name || job.over(now) || (only_unstarted && job.start <= now)) continue;
                if (job.start < now) world.lost_work((now - job.start) * host.rate);
                job.cancelled = true;
            }
    };
    cancel(reply.result_aborts, false);
    cancel(reply.result_aborts_if_not_started, true);
    for (const ReplyJob& sent : reply.jobs) {
        const auto is_it = [&](const Job& job) { return job.name == sent.result_name; };
        if (std::any_of(host.jobs.begin(), host.jobs.end(), is_it)) continue;
        Job& job = host.jobs.emplace_back();
        job.name = sent.result_name;
        job.workunit = sent.workunit_id;
        job.deadline = static_cast<double>(sent.report_deadline);
        job.gpu = sent.version.usage.proc_type != ProcType::kCpu;
        job.plan_class = sent.version.plan_class;
        job.run_time = world.real_flops(job.workunit) / (host.speed * 1e9 * (job.gpu ? kGpuSpeed : 1));
        job.fails = host.rng.chance(fleet_.error_rate);
        job.wrong = host.rng.chance(fleet_.wrong_rate);
        const double failed_at = host.rng.uniform();
        if (job.fails) job.run_time *= failed_at;
    }
}

void ReplayedHosts::ask(std::size_t number, double now, ClientWorld& world) {
    const RecordedRequest& recorded = recording_.requests[number];
    Host& host = hosts_[recorded.host];
    SchedulerRequest request = recorded.request;
    describe(host, request);
    for (Job& job : host.jobs) job.given_up |= !job.over(now) && job.start > now && job.deadline <= now;
    schedule(host, now);
    request.authenticator = host.key;
    request.hostid = host.id;
    request.rpc_seqno = host.seqno++;
    request.code_sign_key = kSignKey;
    request.client_now = recorded.clock_error ? now + *recorded.clock_error : 0;
    list_jobs(host, now, request);
    const auto reply = world.rpc(host.speed, request);
    if (!reply) return;
    take(host, *reply, now, world);
    schedule(host, now);
}

}  // namespace sluice::sim
