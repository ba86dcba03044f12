// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A run: hosts, work and daemons on one virtual clock, from the first second of the scenario to its last.
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
struct RunWatcher {
    std::function<void(const MemoryDb&)>
        starts;  ///< with the rows that are there before the first event, until the end
    std::function<void(const Workunit&)> submitted;
    std::function<void(double now)> looked;  ///< daemons did what was due
    std::function<void()> reread;            ///< a daemon asked the feeder to read its tables again
    std::function<void(double now, const SchedulerRequest&, const SchedulerReply&)> answered;
};

struct RunOptions {
    std::uint64_t seed = 1;
    std::string* job_lines = nullptr;             ///< CSV of every job, without a header; null: not wanted
    std::function<void(double part)> progress{};  ///< called now and then, 0 to 1
    std::function<bool()> stop{};                 ///< true: the run is given up, run_fleet() throws Error
    const RunWatcher* watcher = nullptr;
    const Recording* replay = nullptr;  ///< its hosts instead of a fleet; the scenario is one of for_replay()
};

/// The same scenario and options give the same result. Throws Error (a configuration that can't work, no memory for the
/// job array).
FleetResult run_fleet(const Scenario& scenario, const RunOptions& options);

}  // namespace sluice::sim
