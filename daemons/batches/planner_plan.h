// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// T and H of every batch in progress, on a whole fleet (seed 000; A. Legrand's technique): batches in their order, each
// with what those before it leave of the hosts. Pure. Simulations showed two dangers: with few hosts in H, or a T that
// no host reaches, a batch waits for single hosts. PlanRules prevents both.
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sluice/model/codes.h"

namespace sluice {

/// What a job of an app takes of one resource.
struct ResourceUse {
    double devices = 0;  ///< processors or GPUs, may be a part of one; 0: there is no version for the resource
    double cpus = 0;     ///< processors beside GPUs
    double peak_scale = 1, projected = 1, pfc = 0;  ///< of GPUs: GpuUse, and app_version.pfc_avg (0: not known)
};
using AppUse = std::array<ResourceUse, kProcTypes>;

/// A host's devices of one type, as one number.
inline Id pool_key(Id host, ProcType type) { return host * kProcTypes + static_cast<Id>(type); }

/// Pools by index: a host's processors, and behind them its GPUs, a pool for each type that some batch may use. An
/// app's speeds stand in a vector of its own. About 35 bytes a pool.
struct FleetCapacity {
    std::vector<Id> ids;          ///< of the host
    std::vector<ProcType> types;  ///< of the pool's devices
    std::vector<int> cpus;        ///< devices that take jobs, at least 1
    std::vector<double> free_at;  ///< s from now until it can start another job: contact, work that it must do first
    std::vector<float> availability;                       ///< (0, 1]
    std::vector<float> seconds_per_op;                     ///< where nothing else is known: by the benchmark
    std::unordered_map<Id, std::vector<float>> measured;   ///< app -> s of computing per operation, 0: not measured
    std::unordered_map<Id, std::vector<bool>> takes_none;  ///< app -> it is not counted on for jobs of it
    std::unordered_map<Id, AppUse> uses;                   ///< app -> what a job takes; none: a processor
    /// app -> processors that a job takes of each pool of them, 0: none of its versions runs there; none: one each.
    std::unordered_map<Id, std::vector<float>> threads;
    std::size_t size() const { return ids.size(); }
    /// s of computing that a job takes.
    double computing(std::size_t pool, Id app, double fpops) const;
    /// Jobs of the app that run at a time; 0: the app has no version for these devices, or a job takes more of them.
    int at_once(std::size_t pool, Id app) const;
    /// The same of jobs that it has: where there is no version any more, one a device.
    int held_at_once(std::size_t pool, Id app) const;
    /// This part of the pool's devices does jobs of the app for so long before anything else. Jobs on GPUs also take
    /// the time of processors, as far as their version does.
    void occupy(std::size_t pool, Id app, double part, double seconds);
    /// The processors of the pool's host.
    std::size_t processors(std::size_t pool) const;
    std::size_t hosts() const;
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

/// One for each demand, in that order, which is the batches' order. `fleet.free_at` of the pools that a batch uses
/// becomes its T.
std::vector<BatchTarget> plan_batches(FleetCapacity& fleet, const std::vector<BatchDemand>& demands,
                                      const PlanRules& rules);

/// Jobs of the app that a pool completes by `finish`, s from now.
std::int64_t jobs_by(const FleetCapacity& fleet, std::size_t pool, Id app, double job_seconds, double finish);

}  // namespace sluice
