#include <algorithm>

#include "sluice/client_policy/policy.h"
#include "src/client_policy/occupancy.h"
#include "src/client_policy/priority.h"

namespace sluice::client {
namespace {

class JobOrder {
  public:
    JobOrder(const State& state, const RoundRobin& forecast)
        : state_(state), occupancy_(state), priority_(state), chosen_(state.jobs.size()) {
        const std::size_t lists = state.types.size() * state.projects.size();
        in_danger_.resize(state.jobs.size());
        misses_.resize(lists);
        for (std::size_t j = 0; j < state.jobs.size(); ++j)
            if (forecast.misses[j]) ++misses_[list_of(state.jobs[j])];
        for (std::size_t j = 0; j < state.jobs.size(); ++j)
            in_danger_[j] = state.rules == Rules::kSeed ? forecast.misses[j] : misses_[list_of(state.jobs[j])] > 0;
    }

    std::vector<std::size_t> run() {
        for (const std::size_t type : gpus_then_cpu(state_)) by_deadline(type);
        for (const std::size_t type : gpus_then_cpu(state_)) by_priority(type);
        return std::move(order_);
    }

  private:
    std::size_t list_of(const Job& job) const { return job.type * state_.projects.size() + job.project; }

    void choose(std::size_t j) {
        chosen_[j] = true;
        if (!occupancy_.fits(state_.jobs[j])) return;
        occupancy_.take(state_.jobs[j]);
        priority_.charge(state_.jobs[j]);
        order_.push_back(j);
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
            if (occupancy_.full(type)) return;
            if (state_.rules == Rules::kClient && misses_[list_of(state_.jobs[j])]-- <= 0) continue;
            choose(j);
        }
    }

    void by_priority(std::size_t type) {
        const std::size_t none = state_.jobs.size();
        while (!occupancy_.full(type)) {
            std::vector<std::size_t> next(state_.projects.size(), none);
            for (std::size_t j = 0; j < none; ++j) {
                if (state_.jobs[j].type != type || chosen_[j]) continue;
                std::size_t& of_project = next[state_.jobs[j].project];
                if (of_project == none || starts_before(j, of_project)) of_project = j;
            }
            const std::size_t project = priority_.greatest([&](std::size_t p) { return next[p] != none; });
            if (project == state_.projects.size()) return;
            choose(next[project]);
        }
    }

    /// Though it arrived after `other`.
    bool starts_before(std::size_t j, std::size_t other) const {
        return state_.rules == Rules::kClient && state_.jobs[j].started && !state_.jobs[other].started;
    }

    const State& state_;
    Occupancy occupancy_;
    ProjectPriority priority_;
    std::vector<bool> chosen_, in_danger_;
    std::vector<int> misses_;  ///< of each type and project
    std::vector<std::size_t> order_;
};

}  // namespace

std::vector<std::size_t> jobs_to_run(const State& state, const RoundRobin& forecast) {
    return JobOrder(state, forecast).run();
}

}  // namespace sluice::client
