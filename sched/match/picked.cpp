// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/picked.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "sched/match/app_versions.h"
#include "sched/match/planned_batch.h"

namespace sluice::match {
namespace {

std::size_t index_of(ProcType type) { return static_cast<std::size_t>(type); }

int gpus(const HostFacts& host, ProcType type) {
    int n = 0;
    for (const Coproc& c : host.coprocs)
        if (c.proc_type == type) n += std::clamp(c.count, 0, 64);
    return n;
}

// mult of upstream: CPUs plus weighted GPUs; a project of non-CPU-intensive work counts 1.
int jobs_per_rpc(const MatchContext& c) {
    if (c.params.max_wus_to_send <= 0) return 999999;
    if (c.params.non_cpu_intensive) return c.params.max_wus_to_send;
    int n_gpus = 0;
    for (int t = 1; t < kProcTypes; ++t) n_gpus += gpus(c.host, static_cast<ProcType>(t));
    const double mult = c.host.usable_cpus + static_cast<double>(c.params.gpu_multiplier) * n_gpus;
    return static_cast<int>(std::min(mult * c.params.max_wus_to_send, 999999.0));
}

EdfSimulation initial_simulation(const MatchContext& c) {
    if (!c.params.workload_sim || !c.host.workload_known) return {};
    std::array<int, kProcTypes> processors{};
    processors[0] = std::max(c.host.usable_cpus, 1);
    for (int t = 1; t < kProcTypes; ++t)
        processors[static_cast<std::size_t>(t)] = std::max(gpus(c.host, static_cast<ProcType>(t)), 1);
    EdfSimulation sim(processors, c.params.compat_level > 0);
    for (const JobOnHost& job : c.host.in_progress) {
        if (job.deadline <= 0 || job.remaining < 0) continue;
        const bool gpu = job.proc_type != ProcType::kCpu;
        // The client keeps a minimum buffer: it wants to be done by that much earlier.
        sim.add({job.deadline - c.now - c.host.work_buf_min, job.remaining, gpu ? job.gpu_usage : job.ncpus,
                 job.proc_type, 0});
    }
    sim.settle();
    return sim;
}

}  // namespace

MemoryBeside::MemoryBeside(const HostFacts& host)
    : others_(static_cast<std::size_t>(std::max(host.usable_cpus - 1, 0))) {
    for (const JobOnHost& job : host.in_progress)
        if (job.memory > 0) held_.push_back(job.memory);
    std::sort(held_.begin(), held_.end(), std::greater<>());
    sum_up();
}

void MemoryBeside::add(double memory) {
    held_.insert(std::upper_bound(held_.begin(), held_.end(), memory, std::greater<>()), memory);
    sum_up();
}

void MemoryBeside::sum_up() {
    sum_ = 0;
    for (std::size_t i = 0; i < std::min(others_, held_.size()); ++i) sum_ += held_[i];
}

int limit_processors(const HostFacts& host, ProcType type) {
    return type == ProcType::kCpu ? std::max(host.usable_cpus, 1) : gpus(host, type);
}

int allowed_jobs(const JobLimit& limit, int processors) {
    if (limit.jobs <= 0) return -1;
    if (!limit.per_proc) return limit.jobs;
    return static_cast<int>(std::min<std::int64_t>(static_cast<std::int64_t>(limit.jobs) * processors, 1000000000));
}

Verdict in_progress_limits(const MatchContext& c, const Picked& picked, const AppFacts* app, ProcType type) {
    const int processors = limit_processors(c.host, type);
    const auto check = [&](const JobLimits& limits, const std::array<int, kProcTypes>& count, int total, Reason why) {
        const int all = allowed_jobs({limits.total.jobs, false}, 1);  // a total limit is never scaled
        if (all >= 0 && total >= all) return refuse(why, total, all);
        const JobLimit& own = type == ProcType::kCpu ? limits.cpu : limits.gpu;
        const int allowed = allowed_jobs(own, processors);
        if (allowed >= 0 && count[index_of(type)] >= allowed) return refuse(why, count[index_of(type)], allowed);
        return feasible();
    };
    if (Verdict v = check(c.params.max_jobs_in_progress.project, picked.in_progress, picked.in_progress_total,
                          Reason::kInProgressLimit);
        v.refused())
        return v;
    if (!app || !app->limits) return feasible();
    const auto& count = picked.app_in_progress[app->index];
    int total = 0;
    for (int n : count) total += n;
    return check(*app->limits, count, total, Reason::kAppInProgressLimit);
}

bool Picked::wants(ProcType type) const {
    if (!left.resource_specific) return left.total_seconds > 0;
    return left.seconds[index_of(type)] > 0 || left.instances[index_of(type)] > 0;
}

void Picked::add(const MatchContext& c, const Candidate& candidate, double delay_bound) {
    const JobSummary& job = candidate.job;
    const Offer& offer = *candidate.offer;
    const HostUsage& use = offer.choice.usage;
    const double runtime = candidate.runtime();
    const bool gpu = offer.type != ProcType::kCpu;
    const double amount = gpu ? use.gpu_usage : use.avg_ncpus;

    ++jobs;
    disk += job.rsc_disk_bound;
    memory.add(candidate.memory());
    ++in_progress[index_of(offer.counted_as)];
    ++in_progress_total;
    if (plan_for(c, job) != nullptr) {
        const std::size_t type = index_of(offer.counted_as);
        ++tight[type], ++tight_new[type], tight_seconds[type] += runtime;
    } else if (delay_bound > 0) {
        double& due = first_due[index_of(offer.counted_as)];
        due = std::min(due, delay_bound);
    }
    ++app_in_progress[candidate.app.index][index_of(offer.counted_as)];
    if (offer.quota >= 0) ++quotas[static_cast<std::size_t>(offer.quota)].sent_today;
    workunits.push_back(job.workunit_id);

    if (left.resource_specific) {
        left.seconds[index_of(offer.type)] -= runtime * amount;
        left.instances[index_of(offer.type)] -= amount;
    } else {
        left.total_seconds -= runtime;
    }
    const ProcType delayed = offer.counted_as;
    const double share = delayed == ProcType::kCpu ? use.avg_ncpus / std::max(c.host.row.p_ncpus, 1)
                                                   : use.gpu_usage / std::max(gpus(c.host, delayed), 1);
    left.estimated_delay[index_of(delayed)] += runtime * share;
    if (simulation.active()) {
        simulation.add({delay_bound, runtime, amount, offer.type, 0});
        simulation.settle();
    }
}

Picked initial_picked(const MatchContext& c) {
    Picked p;
    p.left = c.wanted;
    p.memory = MemoryBeside(c.host);
    p.max_jobs = jobs_per_rpc(c);
    p.max_in_progress = c.user.max_jobs_in_progress;
    p.app_in_progress.resize(c.tables.apps.size());
    for (const JobOnHost& job : c.host.in_progress) {
        if (!job.ours) continue;
        ++p.in_progress[index_of(job.proc_type)];
        ++p.in_progress_total;
        double& due = p.first_due[index_of(job.proc_type)];
        if (job.tight)
            ++p.tight[index_of(job.proc_type)];
        else if (job.due > c.now)
            due = std::min(due, job.due - c.now);
        for (std::size_t i = 0; job.appid > 0 && i < c.tables.apps.size(); ++i)
            if (c.tables.apps[i].id == job.appid) ++p.app_in_progress[i][index_of(job.proc_type)];
    }
    p.quotas.reserve(c.host.versions.size());
    for (const HostAppVersion& v : c.host.versions) p.quotas.push_back(daily_quota(c, v));
    p.simulation = initial_simulation(c);
    return p;
}

}  // namespace sluice::match
