// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A simulation: hosts, work and daemons on one virtual clock, from the first second of the scenario to its last.
#include <cstdint>
#include <functional>
#include <string>

#include "sched/sim/fleet_result.h"
#include "sched/sim/scenario.h"

namespace sluice {

struct MemoryDb;
struct SchedulerReply;
struct SchedulerRequest;
struct Workunit;
}  // namespace sluice

namespace sluice::sim {

struct Recording;

/// Is told what happens, as it happens; all are given, but for `reread`.
struct SimulationWatcher {
    std::function<void(const MemoryDb&)>
        starts;  ///< with the rows that are there before the first event, until the end
    std::function<void(const Workunit&)> submitted;
    std::function<void(double now)> looked;  ///< daemons did what was due
    std::function<void()> reread;            ///< a daemon asked the feeder to read its tables again
    std::function<void(double now, const SchedulerRequest&, const SchedulerReply&)> answered;
};

struct SimulationOptions {
    std::uint64_t seed = 1;
    std::string* job_lines = nullptr;             ///< CSV of every job, without a header; null: not wanted
    std::function<void(double part)> progress{};  ///< called now and then, 0 to 1
    std::function<bool()> stop{};                 ///< true: the simulation is given up, simulate_fleet() throws Error
    const SimulationWatcher* watcher = nullptr;
    const Recording* replay = nullptr;  ///< its hosts instead of a fleet; the scenario is one of for_replay()
};

/// The same scenario and options give the same result. Throws Error (a configuration that can't work, no memory for the
/// job array).
FleetResult simulate_fleet(const Scenario& scenario, const SimulationOptions& options);

}  // namespace sluice::sim
