#pragma once
// T and H of every batch in progress, on a whole fleet (seed 000; A. Legrand's technique): batches in their order, each
// with what those before it leave of the hosts. Pure. What was found by simulation is kept here: few hosts in H, or a T
// that nobody reaches, make a batch wait for single hosts; see PlanRules.
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sluice/model/codes.h"

namespace sluice {

/// Hosts by index; an app's speeds stand in a vector of its own. About 30 bytes a host.
struct FleetCapacity {
    std::vector<Id> ids;
    std::vector<int> cpus;        ///< that take jobs, at least 1
    std::vector<double> free_at;  ///< s from now until it can start another job: contact, work that it must do first
    std::vector<float> availability;                       ///< (0, 1]
    std::vector<float> seconds_per_op;                     ///< where nothing else was measured: by its benchmark
    std::unordered_map<Id, std::vector<float>> measured;   ///< app -> s of computing per operation, 0: not measured
    std::unordered_map<Id, std::vector<bool>> takes_none;  ///< app -> it is not counted on for jobs of it
    std::size_t size() const { return ids.size(); }
    /// s of computing that a job takes.
    double computing(std::size_t host, Id app, double fpops) const;
};

struct BatchDemand {
    Id batch = 0, app = 0;
    std::int64_t jobs = 0;  ///< to be sent; 0: all are on hosts, T is that of a job that comes back undone
    double mean_fpops = 0;  ///< of a job
    double waited = 0;      ///< s since a job of it was sent (or made), while jobs wait
};

struct PlanRules {
    double margin = 1.2;         ///< times the expected run time
    std::size_t min_hosts = 8;   ///< in H: one may be gone, or have had an instance of each job that is left
    double patience = 0.5;       ///< T is no nearer than this part of the time for which the batch has waited
    double least = 360;          ///< s: a request a few minutes after the plan must still be in time
    double horizon = 7 * 86400;  ///< s: what takes longer is not planned, but sent to anyone
};

struct BatchTarget {
    Id batch = 0;
    bool planned = false;    ///< false: there are no hosts, or the horizon is too near
    double finish = 0;       ///< T, s from now
    std::int64_t hosts = 0;  ///< |H|
};

/// One for each demand, in that order, which is the batches' order. `fleet.free_at` of the hosts that a batch uses
/// becomes its T.
std::vector<BatchTarget> plan_batches(FleetCapacity& fleet, const std::vector<BatchDemand>& demands,
                                      const PlanRules& rules);

/// Jobs that a host completes by `finish`, s from now.
std::int64_t jobs_by(const FleetCapacity& fleet, std::size_t host, double job_seconds, double finish);

}  // namespace sluice
