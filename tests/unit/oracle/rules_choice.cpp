// SPDX-License-Identifier: LGPL-3.0-or-later
// Which of the jobs go out together: resource by resource, GPUs first, by falling value, as long as the request is not
// satisfied.
#include <algorithm>
#include <cmath>

#include "tests/unit/oracle/rules.h"

namespace sluice::oracle {
namespace {

double availability(const HostFacts& host, const Version& v) {
    return v.type == 0 ? host.cpu_availability : host.gpu_availability;
}
double runtime_of(const HostFacts& host, const JobSummary& job, const Version& v) {
    return job.rsc_fpops_est / v.flops / availability(host, v);
}
// A limit of 0 is none.
bool reached(const JobLimit& limit, int running, int processors) {
    return limit.jobs > 0 && running >= limit.jobs * (limit.per_proc ? processors : 1);
}

}  // namespace

Rules::Rules(const World& world)
    : ours_(world.params.compat_level > 0), w_(world), h_(world.host), p_(world.params), rng_(world.bits) {
    d_.left = w_.wanted;
    for (const JobOnHost& job : h_.in_progress) {
        const int type = static_cast<int>(job.proc_type);
        if (job.ours) {
            ++running_total_;
            ++running_type_[type];
            if (job.appid > 0) ++running_[{job.appid, type}];
        }
        // The client wants to be done by its minimum buffer before the deadline.
        if (job.deadline > 0 && job.remaining >= 0)
            queue_.push_back(
                {job.deadline - w_.now - h_.work_buf_min, job.remaining, type == 0 ? job.ncpus : job.gpu_usage, type});
    }
}

bool Rules::wants(int type) const {
    if (!d_.left.resource_specific) return d_.left.total_seconds > 0;
    const auto t = static_cast<std::size_t>(type);
    return d_.left.seconds[t] > 0 || d_.left.instances[t] > 0;
}

// Limits on jobs in progress: of the project, then of the app (if given).
Reason Rules::limits(const App* app, int type) const {
    const int processors = type == 0 ? std::max(h_.usable_cpus, 1) : gpus_of(h_, type);
    const JobLimits& project = p_.max_jobs_in_progress.project;
    const auto count = [](const auto& map, const auto& key) {
        const auto it = map.find(key);
        return it == map.end() ? 0 : it->second;
    };
    if (reached({project.total.jobs, false}, running_total_, 1) ||
        reached(type == 0 ? project.cpu : project.gpu, count(running_type_, type), processors))
        return Reason::kInProgressLimit;
    if (app == nullptr || p_.max_jobs_in_progress.apps.count(app->name) == 0) return Reason::kFeasible;
    const JobLimits& own = p_.max_jobs_in_progress.apps.at(app->name);
    int total = 0;
    for (int t = 0; t < kProcTypes; ++t) total += count(running_, std::pair{app->id, t});
    const bool over = reached({own.total.jobs, false}, total, 1) ||
                      reached(type == 0 ? own.cpu : own.gpu, count(running_, std::pair{app->id, type}), processors);
    return over ? Reason::kAppInProgressLimit : Reason::kFeasible;
}

// What ends the search whatever comes next.
Reason Rules::ends_all() const {
    int gpus = 0;
    for (int t = 1; t < kProcTypes; ++t) gpus += gpus_of(h_, t);
    const int factor = p_.non_cpu_intensive ? 1 : h_.usable_cpus + p_.gpu_multiplier * gpus;
    if (p_.max_wus_to_send > 0 && jobs_ >= p_.max_wus_to_send * factor) return Reason::kJobsPerRpcLimit;
    const int most = w_.user.max_jobs_in_progress;
    return most > 0 && running_total_ >= most ? Reason::kUserJobLimit : Reason::kFeasible;
}

Reason Rules::deadline(const Job& job, double bound) const {
    // Facts: with project-wide HR every app weight is forced to 1.
    const bool hard = job.app->weight == -1 && (ours_ || p_.homogeneous_redundancy == 0);
    const double delay = d_.left.estimated_delay[static_cast<std::size_t>(job.version.type)];
    const double runtime = runtime_of(h_, job.slot->job, job.version);
    if (p_.ignore_delay_bound) return Reason::kFeasible;
    if (!ours_ && delay == 0 && !hard) return Reason::kFeasible;
    if (hard && h_.row.total_credit == 0) return Reason::kDeadline;
    if (!p_.workload_sim || !h_.workload_known)
        return delay + runtime * (hard ? 1.3 : 1) <= bound ? Reason::kFeasible : Reason::kDeadline;

    const auto finishes = [&](std::vector<Queued> jobs) {
        std::map<int, std::vector<double>> free;
        for (int t = 0; t < kProcTypes; ++t) {
            const int devices = std::max(t == 0 ? h_.usable_cpus : gpus_of(h_, t), 1);
            free[t].assign(static_cast<std::size_t>(t == 0 ? devices : 8 * devices), 0.0);
        }
        std::vector<double> ends;
        for (const Queued& q : jobs) {  // upstream: every job takes one CPU
            std::vector<double>& mine = free[ours_ ? q.type : 0];
            const double parts = !ours_ ? 1 : std::ceil(q.width * (q.type == 0 ? 1 : 8) - 1e-9);
            const auto width = static_cast<std::size_t>(std::clamp(parts, 1.0, static_cast<double>(mine.size())));
            std::sort(mine.begin(), mine.end());
            const double end = mine[width - 1] + q.duration;
            for (std::size_t i = 0; i < width; ++i) mine[i] = end;
            ends.push_back(end);
        }
        return ends;
    };
    std::vector<Queued> before = queue_;
    std::stable_sort(before.begin(), before.end(), [](auto& a, auto& b) { return a.deadline < b.deadline; });
    std::size_t at = 0;
    while (at < before.size() && before[at].deadline <= bound) ++at;
    std::vector<Queued> after = before;
    const Version& v = job.version;
    after.insert(after.begin() + static_cast<std::ptrdiff_t>(at),
                 {bound, runtime, v.type == 0 ? v.ncpus : v.gpus, v.type});
    const std::vector<double> was = finishes(before);
    std::vector<double> is = finishes(after);
    if (is[at] > bound) return Reason::kDeadline;
    is.erase(is.begin() + static_cast<std::ptrdiff_t>(at));
    for (std::size_t i = 0; i < before.size(); ++i)
        if (is[i] > std::max(before[i].deadline, was[i])) return Reason::kDeadlineOthers;
    return Reason::kFeasible;
}

// The bound that the host can keep: a shortened one for retries on reliable hosts, if that is possible.
double Rules::attainable(const Job& job) const {
    const double whole = job.slot->job.delay_bound, r = p_.reliable_reduced_delay_bound;
    if (!job.slot->job.need_reliable || r <= 0.01) return whole;
    double bound = r * whole;
    const double twice = 2 * runtime_of(h_, job.slot->job, job.version);
    if (twice > bound && twice < whole && twice < 2 * r * whole) bound = twice;
    return deadline(job, bound) == Reason::kFeasible ? bound : whole;
}

// Level 1: those that fill idle processors must fit in memory with the largest that run beside them.
Reason Rules::memory_together(const Job& job) const {
    const bool idle = !d_.left.resource_specific || d_.left.instances[static_cast<std::size_t>(job.version.type)] > 0;
    if (!ours_ || !idle || memory_.empty()) return Reason::kFeasible;
    std::vector<double> beside = memory_;
    for (const JobOnHost& other : h_.in_progress) beside.push_back(other.memory);
    std::sort(beside.rbegin(), beside.rend());
    double sum = job.slot->job.rsc_memory_bound;
    for (int i = 0; i < static_cast<int>(beside.size()) && i < h_.usable_cpus - 1; ++i)
        sum += beside[static_cast<std::size_t>(i)];
    return sum > h_.usable_ram ? Reason::kMemorySet : Reason::kFeasible;
}

Reason Rules::try_job(const Job& job, int type, double& bound) {
    const JobSummary& j = job.slot->job;
    if (const Reason r = ends_all(); r != Reason::kFeasible) return r;
    if (const Reason r = limits(job.app, type); r != Reason::kFeasible) return r;
    if (const HostAppVersion* row = statistics_of(h_, job.version.statistics_id)) {
        const double quota = quota_of(w_, *row, type);
        if (quota >= 0 && row->n_jobs_today + sent_of_[row->app_version_id] >= quota) return Reason::kDailyQuota;
    }
    const bool once = p_.one_result_per_user_per_wu || p_.one_result_per_host_per_wu || ours_;
    if (once && std::count(workunits_.begin(), workunits_.end(), j.workunit_id) > 0)
        return Reason::kOneInstancePerWorkunit;
    if (j.rsc_disk_bound > h_.disk_available - disk_) return Reason::kDiskSet;
    if (const Reason r = memory_together(job); r != Reason::kFeasible) return r;
    bound = attainable(job);
    if (const Reason r = deadline(job, bound); r != Reason::kFeasible) return r;
    if (const Reason r = slow_check(*job.app, *job.slot, job.version); r != Reason::kFeasible) {
        const bool nobodys = r == Reason::kResultGone || r == Reason::kWorkunitError || r == Reason::kWorkunitDone;
        if (nobodys) gone_.insert(job.slot);
        return r;
    }
    gone_.insert(job.slot);
    return job.slot->taken ? Reason::kClaimLost : Reason::kFeasible;
}

void Rules::add(const Job& job, double bound) {
    const JobSummary& j = job.slot->job;
    const Version& v = job.version;
    const auto t = static_cast<std::size_t>(v.type);
    const double runtime = runtime_of(h_, j, v), amount = v.type == 0 ? v.ncpus : v.gpus;
    Sent sent{j.result_id, v.id,     v.type, job.score, bound, runtime, v.flops, host_hr_class(w_, *job.app),
              v.reliable,  v.trusted};
    d_.sent.push_back(sent);
    ++jobs_;
    ++running_total_;
    ++running_type_[v.type];
    ++running_[{job.app->id, v.type}];
    ++sent_of_[v.statistics_id];
    disk_ += j.rsc_disk_bound;
    memory_.push_back(j.rsc_memory_bound);
    workunits_.push_back(j.workunit_id);
    queue_.push_back({bound, runtime, amount, v.type});
    const int processors = v.type == 0 ? h_.row.p_ncpus : gpus_of(h_, v.type);
    d_.left.estimated_delay[t] += runtime * amount / std::max(processors, 1);
    if (d_.left.resource_specific) {
        d_.left.seconds[t] -= runtime * amount;
        d_.left.instances[t] -= amount;
    } else {
        d_.left.total_seconds -= runtime;
    }
}

const BatchShare* Rules::share(const Job& job) const {
    const auto found = w_.tables.batch_shares.find(job.slot->job.batch);
    return found == w_.tables.batch_shares.end() ? nullptr : &found->second;
}

// In some requests one of the users whose jobs could go out is drawn, by quota.
Id Rules::first_by_lot(const std::map<int, std::vector<Job>>& of) const {
    const double lot = rng_.uniform();  // the same bits each time
    if (!(lot < p_.share_floor)) return 0;
    std::map<Id, double> quota;
    for (const auto& [type, jobs] : of)
        for (const Job& job : jobs)
            if (const BatchShare* s = share(job); s != nullptr && s->quota > 0) quota[s->user_id] = s->quota;
    double all = 0, passed = 0;
    for (const auto& [user, q] : quota) all += q;
    for (const auto& [user, q] : quota) {
        passed += q;
        if (lot * all < passed) return user;
    }
    return 0;
}

// Whose batch ends first, logically, goes first; up to six hours more count as the same; then whose is first of the
// rest, and so on. The drawn user's jobs go before all, in the same manner. Whose job has no such batch is as good as
// the first of the others.
void Rules::order_by_shares(std::map<int, std::vector<Job>>& of) const {
    if (w_.tables.batch_shares.empty()) return;
    const Id drawn = first_by_lot(of);
    std::uint32_t band = 0;
    std::optional<std::uint32_t> first_of_others;
    for (const bool his : {true, false}) {
        std::vector<Job*> open;
        for (auto& [type, jobs] : of)
            for (Job& job : jobs)
                if (const BatchShare* s = share(job); s != nullptr && (drawn != 0 && s->user_id == drawn) == his)
                    open.push_back(&job);
        if (!his) first_of_others = band;
        while (!open.empty()) {
            double first = share(*open.front())->end;
            for (const Job* job : open) first = std::min(first, share(*job)->end);
            std::vector<Job*> later;
            for (Job* job : open) {
                const bool together = share(*job)->end <= first + 6 * 3600;
                if (together) {
                    job->band = band;
                    const double behind = share(*job)->end > first ? share(*job)->end - first : 0;
                    job->lag = -weight("share_lag", 10, 12) * behind / (6 * 3600);
                } else {
                    later.push_back(job);
                }
            }
            open = later;
            ++band;
        }
    }
    for (auto& [type, jobs] : of)
        for (Job& job : jobs)
            if (share(job) == nullptr) job.band = *first_of_others;
}

void Rules::walk(int type, std::vector<Job> jobs) {
    std::stable_sort(jobs.begin(), jobs.end(),
                     [](const Job& a, const Job& b) { return a.band != b.band ? a.band < b.band : a.score > b.score; });
    Reason ended = Reason::kFeasible;
    for (const Job& job : jobs) {
        Fate& fate = d_.fates[{job.slot->job.result_id, type}];
        fate = {{}, true, job.score, size_class(*job.app, job.version), {}};
        if (!w_.tables.batch_shares.empty()) fate.share_band = job.band;
        if (ended == Reason::kFeasible && wants(type) && gone_.count(job.slot) == 0) {
            ended = ends_all();
            if (ended == Reason::kFeasible) ended = limits(nullptr, type);
        }
        if (ended != Reason::kFeasible) fate.why.insert(ended);
        if (gone_.count(job.slot) > 0 || (ended == Reason::kFeasible && !wants(type)))
            fate.why.insert(Reason::kNotNeeded);
        if (!fate.why.empty()) continue;
        double bound = 0;
        const Reason r = try_job(job, type, bound);
        fate.why.insert(r);
        if (r == Reason::kFeasible) add(job, bound);
    }
    // Of those that went out on another resource either may be said.
    for (const Job& job : jobs)
        if (Fate& fate = d_.fates[{job.slot->job.result_id, type}];
            ended != Reason::kFeasible && fate.why.count(Reason::kNotNeeded) > 0)
            fate.why.insert(ended);
}

// The slots that are looked at, and what keeps their jobs from all resources alike.
void Rules::look_at_all(std::vector<int>& passes) {
    const std::size_t size = w_.slots.size();
    const std::size_t most = p_.mm_max_slots > 0 ? std::min(size, static_cast<std::size_t>(p_.mm_max_slots)) : size;
    const std::size_t start = size > 0 ? rng_.below(size) : 0;
    for (std::size_t n = 0; n < most; ++n) {
        const World::Slot& slot = w_.slots[(start + n) % size];
        ++d_.scanned;
        if (slot.state == SlotState::kClaimed) ++d_.locked;
        if (slot.state != SlotState::kPresent) continue;
        const App* app = nullptr;
        for (const App& a : w_.tables.apps)
            if (a.id == slot.job.app_id) app = &a;
        Reason r = app ? app_check(*app) : Reason::kNoSuchApp;
        if (r == Reason::kFeasible) r = job_check(*app, slot.job);
        if (r == Reason::kFeasible)
            seen_.push_back(&slot);
        else
            d_.fates[{slot.job.result_id, passes.front()}].why = {r};
    }
    const std::uint32_t tenth = std::max<std::uint32_t>(static_cast<std::uint32_t>(size) / 10, 1);
    const std::uint32_t limit = p_.mm_max_locked < 0 ? tenth : static_cast<std::uint32_t>(p_.mm_max_locked);
    d_.array_too_small = limit > 0 && d_.locked >= limit;
}

std::vector<Rules::Job> Rules::candidates(int type) {
    std::vector<Job> jobs;
    for (const World::Slot* slot : seen_) {
        const App* app = nullptr;
        for (const App& a : w_.tables.apps)
            if (a.id == slot->job.app_id) app = &a;
        Fate& fate = d_.fates[{slot->job.result_id, type}];
        const auto version = best_version(*app, slot->job, type, fate.why);
        if (!version) continue;
        Reason r = version_check(*app, slot->job, *version);
        if (r == Reason::kFeasible) r = last_check(slot->job);
        fate = {{r}, false, 0, -1, {}};
        if (r == Reason::kFeasible) jobs.push_back({slot, app, *version, score(*app, *slot, *version), 0, 0});
    }
    return jobs;
}

Decision Rules::decide() {
    std::vector<int> passes;
    bool needed = false;
    for (int type = kProcTypes - 1; type >= 0; --type) {
        if (!wants(type) || !has_version_for(type)) continue;
        passes.push_back(type);
        needed = needed || limits(nullptr, type) == Reason::kFeasible;
    }
    if (!needed || ends_all() != Reason::kFeasible) return d_;
    look_at_all(passes);
    std::map<int, std::vector<Job>> of;
    std::vector<int> priorities;
    for (int type : passes) {
        of[type] = candidates(type);
        for (const Job& job : of[type]) priorities.push_back(job.slot->job.priority);
    }
    order_by_shares(of);
    for (int type : passes) {
        // What depends on the others is added up first: equal scores are to be equal to the last bit.
        for (Job& job : of[type]) job.score += rank_points(job.slot->job.priority, priorities) + job.lag;
        walk(type, of[type]);
    }
    d_.satisfied = ends_all() != Reason::kFeasible ||
                   std::none_of(passes.begin(), passes.end(), [&](int type) { return wants(type); });
    return d_;
}

}  // namespace sluice::oracle
