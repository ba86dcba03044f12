#pragma once
// The host's queue, simulated: jobs in order of deadline, each on the processors of its resource that are free first.
// Upstream's rule, but GPU jobs run on GPUs and a job of several CPUs takes several (upstream: every job one CPU).
#include <array>
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
    void simulate(std::vector<SimJob>& jobs) const;
    bool active_ = false, exact_ = true;
    std::array<int, kProcTypes> processors_{};
    std::vector<SimJob> jobs_;  ///< by deadline
};

}  // namespace sluice::match
