// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The host's queue, simulated: jobs in order of deadline, each on the processors of its resource that are free first.
// Upstream's rule, but GPU jobs run on GPUs and a job of several CPUs takes several (upstream: every job one CPU).
#include <array>
#include <span>
#include <vector>

#include "sluice/match/host_facts.h"
#include "sluice/model/codes.h"

namespace sluice::match {

struct SimJob {
    double deadline = 0;    ///< s from now
    double duration = 0;    ///< s
    double processors = 1;  ///< CPUs, or devices of `type` (may be a fraction)
    ProcType type = ProcType::kCpu;
    double finish = 0;  ///< result of the last simulation, s from now
};

class EdfSimulation {
  public:
    /// `processors`: of each type. `exact` = false is upstream's model: everything on CPUs, one each.
    EdfSimulation() = default;
    EdfSimulation(const std::array<int, kProcTypes>& processors, bool exact);
    bool active() const { return active_; }

    /// A job that the host has for certain. Call settle() after the last.
    void add(const SimJob& job);
    void settle();

    struct Answer {
        bool feasible = true;
        bool others = false;  ///< it is another job that would be late (or later)
        double lateness = 0;  ///< s by which the job misses its deadline (or the other one)
    };
    /// Would this job be in time, and make no other job late that was not, nor a late one later?
    Answer try_job(const SimJob& job) const;

  private:
    /// The jobs of one resource. What comes before a job's place does not change with the job: the simulation goes on
    /// from there.
    struct Queue {
        std::size_t processors = 1;
        std::vector<SimJob> jobs;  ///< by deadline
        std::size_t settled = 0;   ///< so many of them have been simulated
        /// When each processor becomes free, ascending, before every job whose index is a multiple of `processors`: at
        /// that index. As long as the queue.
        std::vector<double> kept;
    };
    std::size_t queue_of(const SimJob& job) const;
    double run(const SimJob& job, std::span<double> free) const;
    std::vector<double> free_before(const Queue& queue, std::size_t index) const;

    bool active_ = false, exact_ = true;
    std::array<Queue, kProcTypes> queues_;
};

}  // namespace sluice::match
