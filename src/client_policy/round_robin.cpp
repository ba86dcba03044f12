// SPDX-License-Identifier: LGPL-3.0-or-later
// The simulation of the queue, and that of the jobs in danger alone.
#include <algorithm>
#include <limits>
#include <numeric>

#include "sluice/client_policy/policy.h"
#include "src/client_policy/priority.h"

namespace sluice::client {
namespace {

constexpr double kSlice = 3600;          ///< the seed's time slice
constexpr double kLeastMinBuffer = 180;  ///< the client's least minimum buffer
constexpr double kMoment = 1e-9;         ///< jobs that end so close to each other end together

/// Jobs in the order of arrival, with what is left of them in wall-clock seconds.
class Queue {
  public:
    explicit Queue(const State& state) : state_(state), lists_(state.types.size() * state.projects.size()) {
        for (std::size_t j = 0; j < state.jobs.size(); ++j) {
            left_.push_back(state.jobs[j].remaining / state.on_frac);
            list(state.jobs[j].type, state.jobs[j].project).push_back(j);
        }
    }
    std::vector<std::size_t>& list(std::size_t type, std::size_t project) {
        return lists_[type * state_.projects.size() + project];
    }
    double& left(std::size_t job) { return left_[job]; }
    void remove(std::size_t job) {
        auto& jobs = list(state_.jobs[job].type, state_.jobs[job].project);
        jobs.erase(std::find(jobs.begin(), jobs.end(), job));
    }

  private:
    const State& state_;
    std::vector<std::vector<std::size_t>> lists_;
    std::vector<double> left_;
};

class Simulation {
  public:
    explicit Simulation(const State& state)
        : state_(state),
          queue_(state),
          priority_(state.rules == Rules::kSeed ? ProjectPriority(state)
                                                : ProjectPriority(state, projects_with_jobs(state))) {
        result_.types.resize(state.types.size());
        result_.finish.resize(state.jobs.size());
    }

    RoundRobin run() {
        for (;;) {
            Occupancy occupancy(state_);
            const std::vector<std::size_t> active = choose(occupancy);
            if (time_ == 0)
                for (std::size_t t = 0; t < state_.types.size(); ++t)
                    result_.types[t].idle_instances = occupancy.idle(t);
            const double step = active.empty() ? std::numeric_limits<double>::infinity() : step_of(active);
            account(occupancy, step);
            if (active.empty()) break;
            advance(active, step);
        }
        return std::move(result_);
    }

  private:
    std::vector<std::size_t> choose(Occupancy& occupancy) {
        ProjectPriority priority = priority_;
        std::vector<std::size_t> active;
        for (const std::size_t type : gpus_then_cpu(state_)) {
            std::vector<std::size_t> next(state_.projects.size());
            while (!occupancy.full(type)) {
                const std::size_t project =
                    priority.greatest([&](std::size_t p) { return next[p] < queue_.list(type, p).size(); });
                if (project == state_.projects.size()) break;
                const auto& jobs = queue_.list(type, project);
                const std::size_t job = jobs[next[project]];
                const bool starts = state_.rules == Rules::kSeed ? occupancy.fits(state_.jobs[job])
                                                                 : occupancy.may_start(state_.jobs[job]);
                if (!starts) {
                    next[project] = jobs.size();  // nothing overtakes it
                    continue;
                }
                ++next[project];
                occupancy.take(state_.jobs[job]);
                priority.charge(state_.jobs[job]);
                active.push_back(job);
            }
        }
        return active;
    }

    double step_of(const std::vector<std::size_t>& active) {
        double step = std::numeric_limits<double>::infinity();
        for (const std::size_t job : active) step = std::min(step, queue_.left(job));
        // Slices grow with what is left, so that a queue of years is simulated in some hundred steps.
        const bool slices = state_.rules == Rules::kSeed && state_.projects.size() > 1;
        return slices ? std::min(step, std::max(kSlice, step / 10)) : step;
    }

    void account(const Occupancy& occupancy, double step) {
        const double in_buffer = std::clamp(state_.max_buffer() - time_, 0.0, step);
        for (std::size_t t = 0; t < state_.types.size(); ++t) {
            Forecast& f = result_.types[t];
            if (occupancy.full(t)) {
                if (f.saturated >= time_) f.saturated = time_ + step;
            } else {
                f.shortfall += occupancy.idle(t) * in_buffer;
            }
        }
    }

    void advance(const std::vector<std::size_t>& active, double step) {
        time_ += step;
        for (const std::size_t job : active) {
            // The client chooses by the REC of now throughout; by the seed, shares hold over the time that is
            // simulated.
            if (state_.rules == Rules::kSeed) priority_.charge(state_.jobs[job], step);
            queue_.left(job) -= step;
            if (queue_.left(job) > kMoment) continue;
            result_.finish[job] = time_;
            queue_.remove(job);
        }
    }

    const State& state_;
    Queue queue_;
    ProjectPriority priority_;
    RoundRobin result_;
    double time_ = 0;
};

}  // namespace

RoundRobin round_robin(const State& state) {
    RoundRobin result = Simulation(state).run();
    const double margin = state.rules == Rules::kSeed ? 0 : std::max(state.work_buf_min, kLeastMinBuffer);
    for (std::size_t j = 0; j < state.jobs.size(); ++j)
        result.misses.push_back(state.now + result.finish[j] > state.jobs[j].deadline - margin);
    return result;
}

std::vector<double> busy_times(const State& state, const std::vector<bool>& misses) {
    State danger = state;
    danger.rules = Rules::kSeed;
    danger.jobs.clear();
    for (std::size_t j = 0; j < state.jobs.size(); ++j) {
        if (!misses[j]) continue;
        danger.jobs.push_back(state.jobs[j]);
        danger.jobs.back().project = 0;  // by deadline alone
    }
    std::stable_sort(danger.jobs.begin(), danger.jobs.end(),
                     [](const Job& a, const Job& b) { return a.deadline < b.deadline; });
    if (!danger.projects.empty()) danger.projects.resize(1);
    std::vector<double> busy;
    for (const Forecast& f : Simulation(danger).run().types) busy.push_back(f.saturated);
    return busy;
}

}  // namespace sluice::client
