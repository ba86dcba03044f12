// SPDX-License-Identifier: LGPL-3.0-or-later
// The list of jobs that should run, and which of them do (task scheduling).
#include <algorithm>
#include <cmath>
#include <vector>

#include "sluice/client_policy/policy.h"
#include "src/client_policy/priority.h"

namespace sluice::client {
namespace {

// How many jobs the client puts on its list, and how many of them it runs. By the seed's rules both are what the
// processors hold; the real client lists generously and is strict when it starts jobs.

/// While the list is made. The client counts jobs of one CPU and of several apart, and no CPUs of GPU jobs, so that
/// something is left to run when a job of the list can't.
class ListCapacity {
  public:
    explicit ListCapacity(const State& state);
    bool full(std::size_t type) const;
    bool admits(const Job& job) const;
    void reserve(const Job& job);

  private:
    const State& state_;
    Occupancy used_;
    double cpus_one_ = 0, cpus_several_ = 0;  ///< of jobs that use at most one CPU, and more
};

/// While jobs of the list are started. The client starts a CPU job as long as one CPU is free, however many it uses,
/// and GPU jobs up to one CPU more than there are; a whole GPU must be free, or the fraction on one GPU.
class StartCapacity {
  public:
    explicit StartCapacity(const State& state);
    bool admits(const Job& job) const;
    void take(const Job& job);

  private:
    bool places(const Job& job, std::vector<std::size_t>& at) const;

    const State& state_;
    Occupancy used_;
    double cpus_ = 0, cpus_used_ = 0;
    bool has_cpu_ = false;
    std::vector<std::vector<double>> gpus_;  ///< of each type: what is used of each instance
};

constexpr double kRoundingOfRoom = 1e-6;

ListCapacity::ListCapacity(const State& state) : state_(state), used_(state) {}

bool ListCapacity::full(std::size_t type) const {
    const ProcessorType& t = state_.types[type];
    if (state_.rules == Rules::kSeed || !t.is_cpu) return used_.full(type);
    return cpus_one_ > t.instances - kRoundingOfRoom || cpus_several_ > 2 * t.instances - kRoundingOfRoom;
}

bool ListCapacity::admits(const Job& job) const {
    const ProcessorType& t = state_.types[job.type];
    if (state_.rules == Rules::kSeed || !t.is_cpu) return used_.fits(job);
    if (job.instances <= 1) return cpus_one_ < t.instances - kRoundingOfRoom;
    return cpus_several_ == 0 || cpus_several_ + job.instances <= t.instances + kRoundingOfRoom;
}

void ListCapacity::reserve(const Job& job) {
    if (state_.rules == Rules::kSeed || !state_.types[job.type].is_cpu)
        used_.take(job);
    else
        (job.instances <= 1 ? cpus_one_ : cpus_several_) += job.instances;
}

StartCapacity::StartCapacity(const State& state) : state_(state), used_(state) {
    for (const ProcessorType& t : state.types) {
        gpus_.emplace_back(t.is_cpu ? 0 : static_cast<std::size_t>(std::ceil(t.instances)));
        if (t.is_cpu) has_cpu_ = true, cpus_ = t.instances;
    }
}

/// On which instances the job would run: a fraction on one that has room, otherwise free ones.
bool StartCapacity::places(const Job& job, std::vector<std::size_t>& at) const {
    const auto& gpus = gpus_[job.type];
    const double part = std::min(1.0, job.instances);
    const auto wanted = std::min(static_cast<std::size_t>(std::ceil(job.instances - kRoundingOfRoom)), gpus.size());
    for (std::size_t i = 0; i < gpus.size() && at.size() < wanted; ++i)
        if (gpus[i] + part <= 1 + kRoundingOfRoom) at.push_back(i);
    return at.size() == wanted;
}

bool StartCapacity::admits(const Job& job) const {
    if (state_.rules == Rules::kSeed) return used_.fits(job);
    const bool cpu_job = state_.types[job.type].is_cpu;
    if (has_cpu_ && cpus_used_ > cpus_ - kRoundingOfRoom &&
        (cpu_job || cpus_used_ + job.cpus > cpus_ + 1 + kRoundingOfRoom))
        return false;
    std::vector<std::size_t> at;
    return cpu_job || places(job, at);
}

void StartCapacity::take(const Job& job) {
    if (state_.rules == Rules::kSeed) return used_.take(job);
    cpus_used_ += state_.types[job.type].is_cpu ? job.instances : job.cpus;
    std::vector<std::size_t> at;
    if (state_.types[job.type].is_cpu || !places(job, at)) return;
    for (const std::size_t i : at) gpus_[job.type][i] += std::min(1.0, job.instances);
}

struct ChosenJob {
    std::size_t job;
    bool in_danger = false;  ///< chosen for its deadline
    bool in_slice = false;   ///< runs, and its time slice is not over
};

/// The jobs that should run, the most urgent first.
class OrderedJobs {
  public:
    OrderedJobs(const State& state, const RoundRobin& forecast)
        : state_(state),
          room_(state),
          priority_(state, state.rules == Rules::kSeed ? std::vector<bool>(state.projects.size(), true)
                                                       : projects_with_jobs(state)),
          chosen_(state.jobs.size()),
          in_danger_(state.jobs.size()),
          misses_(state.types.size() * state.projects.size()) {
        for (std::size_t j = 0; j < state.jobs.size(); ++j)
            if (forecast.misses[j]) ++misses_[list_of(state.jobs[j])];
        for (std::size_t j = 0; j < state.jobs.size(); ++j)
            in_danger_[j] = state.rules == Rules::kSeed ? forecast.misses[j] : misses_[list_of(state.jobs[j])] > 0;
    }

    std::vector<ChosenJob> make() {
        if (state_.rules == Rules::kSeed) {
            for (const std::size_t type : gpus_then_cpu(state_)) by_deadline(type);
            for (const std::size_t type : gpus_then_cpu(state_)) by_priority(type);
        } else {
            // The client ends with one type before it begins with the next: what the GPUs run is charged first.
            for (const std::size_t type : gpus_then_cpu(state_)) by_deadline(type), by_priority(type);
        }
        add_unfinished_slices();
        std::stable_sort(list_.begin(), list_.end(),
                         [&](const ChosenJob& a, const ChosenJob& b) { return urgency(a, b); });
        return std::move(list_);
    }

  private:
    std::size_t list_of(const Job& job) const { return job.type * state_.projects.size() + job.project; }

    bool choose(std::size_t j, bool in_danger) {
        chosen_[j] = true;
        if (!room_.admits(state_.jobs[j])) return false;
        room_.reserve(state_.jobs[j]);
        priority_.charge(state_.jobs[j]);
        list_.push_back({j, in_danger});
        return true;
    }

    void by_deadline(std::size_t type) {
        std::vector<std::size_t> jobs;
        for (std::size_t j = 0; j < state_.jobs.size(); ++j)
            if (state_.jobs[j].type == type && in_danger_[j]) jobs.push_back(j);
        // Of equal deadlines the client takes what has started, then what ends first.
        std::stable_sort(jobs.begin(), jobs.end(), [&](std::size_t a, std::size_t b) {
            const Job &x = state_.jobs[a], &y = state_.jobs[b];
            if (x.deadline != y.deadline) return x.deadline < y.deadline;
            if (state_.rules == Rules::kSeed) return false;
            return x.started != y.started ? x.started : x.remaining < y.remaining;
        });
        for (const std::size_t j : jobs) {
            if (room_.full(type)) return;
            int& left = misses_[list_of(state_.jobs[j])];
            if (state_.rules == Rules::kClient && left <= 0) continue;
            if (choose(j, true)) --left;
        }
    }

    void by_priority(std::size_t type) {
        while (!room_.full(type)) {
            std::size_t best = state_.jobs.size();
            for (std::size_t j = 0; j < state_.jobs.size(); ++j)
                if (state_.jobs[j].type == type && !chosen_[j] && (best == state_.jobs.size() || before(j, best)))
                    best = j;
            if (best == state_.jobs.size()) return;
            choose(best, false);
        }
    }

    /// `a` arrived after `b`.
    bool before(std::size_t a, std::size_t b) const {
        const Job &x = state_.jobs[a], &y = state_.jobs[b];
        const double pa = priority_.of(x.project), pb = priority_.of(y.project);
        if (pa != pb) return pa > pb;
        const bool client = state_.rules == Rules::kClient;
        // Of equal priorities: on the CPU the first project, on GPUs whatever arrived first.
        if (x.project != y.project && !(client && !state_.types[x.type].is_cpu)) return x.project < y.project;
        return client && x.started && !y.started;
    }

    void add_unfinished_slices() {
        for (std::size_t j = 0; j < state_.jobs.size(); ++j) {
            if (!state_.jobs[j].running || slice_is_over(state_.jobs[j], state_)) continue;
            const auto listed =
                std::find_if(list_.begin(), list_.end(), [&](const ChosenJob& c) { return c.job == j; });
            if (listed != list_.end())
                listed->in_slice = true;
            else
                list_.push_back({j, false, true});
        }
    }

    bool urgency(const ChosenJob& a, const ChosenJob& b) const {
        if (a.in_danger != b.in_danger) return a.in_danger;
        const Job &x = state_.jobs[a.job], &y = state_.jobs[b.job];
        const bool x_cpu = state_.types[x.type].is_cpu, y_cpu = state_.types[y.type].is_cpu;
        if (x_cpu != y_cpu) return y_cpu;
        if (a.in_slice != b.in_slice) return a.in_slice;
        // The client begins with the jobs that use most CPUs, lest those of one CPU starve them.
        return state_.rules == Rules::kClient && x_cpu && x.instances > y.instances;
    }

    const State& state_;
    ListCapacity room_;
    ProjectPriority priority_;
    std::vector<bool> chosen_, in_danger_;
    std::vector<int> misses_;  ///< of each type and project
    std::vector<ChosenJob> list_;
};

}  // namespace

bool slice_is_over(const Job& job, const State& state) {
    const double end = job.running_since + state.time_slice;
    return state.now > end && job.checkpointed > end;
}

std::vector<std::size_t> jobs_to_run(const State& state, const RoundRobin& forecast) {
    StartCapacity room(state);
    std::vector<std::size_t> run;
    double memory = state.memory;
    for (const ChosenJob& c : OrderedJobs(state, forecast).make()) {
        const Job& job = state.jobs[c.job];
        if (!room.admits(job) || (state.memory > 0 && job.memory > memory)) continue;
        room.take(job);
        memory -= job.memory;
        run.push_back(c.job);
    }
    return run;
}

std::vector<Preemption> preemptions(const State& state, const std::vector<std::size_t>& run) {
    std::vector<Preemption> stopped;
    for (std::size_t j = 0; j < state.jobs.size(); ++j) {
        const Job& job = state.jobs[j];
        if (!job.running || std::find(run.begin(), run.end(), j) != run.end()) continue;
        const bool kept = state.types[job.type].is_cpu && (state.leave_in_memory || job.checkpointed <= 0);
        stopped.push_back({j, kept, kept ? 0 : state.now - std::max(job.checkpointed, job.running_since)});
    }
    return stopped;
}

}  // namespace sluice::client
