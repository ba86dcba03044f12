// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Instances that jobs occupy at one moment.
#include <vector>

#include "sluice/client_policy/state.h"

namespace sluice::client {

class Occupancy {
  public:
    explicit Occupancy(const State& state);

    /// Are the instances of its own type free? A job that wants more than there are takes all. The fraction of a CPU
    /// that GPU jobs use beside their GPU does not count against a CPU job: the client, too, starts one too many rather
    /// than leave a CPU idle.
    bool fits(const Job& job) const;
    /// The same in the client's simulation, which lets a job start on what fractions of other jobs leave, too.
    bool may_start(const Job& job) const;
    void take(const Job& job);
    bool full(std::size_t type) const;
    double idle(std::size_t type) const;

  private:
    double wanted(const Job& job) const;

    const State& state_;
    std::vector<double> used_, beside_;  ///< of each type; of the CPU by jobs of other types
};

// Scheduling priority of projects, on a copy of REC that choices charge.

class ProjectPriority {
  public:
    /// `projects`: which count (the seed: all; the client, for work fetch: those that can be asked).
    ProjectPriority(const State& state, const std::vector<bool>& projects);
    explicit ProjectPriority(const State& state);

    double of(std::size_t project) const;
    /// Of the projects that `wanted` is true of, the one with the greatest priority, the first among equals; the number
    /// of projects if it is true of none.
    template <typename Wanted>
    std::size_t greatest(Wanted wanted) const {
        const std::size_t none = rec_.size();
        std::size_t best = none;
        for (std::size_t p = 0; p < none; ++p)
            if (wanted(p) && (best == none || of(p) > of(best))) best = p;
        return best;
    }
    /// As if `job` had run for `seconds`: of all processors together, a day's work is the sum of all REC.
    void charge(const Job& job, double seconds = 3600);

  private:
    const State& state_;
    std::vector<double> rec_;
    double rec_sum_ = 0, share_sum_ = 0, processors_ = 0;
};

/// Those that have jobs in the queue: the client counts no others when it schedules tasks.
std::vector<bool> projects_with_jobs(const State& state);

/// The types in the order in which both policies go through them: all others, then the CPU.
std::vector<std::size_t> gpus_then_cpu(const State& state);

}  // namespace sluice::client
