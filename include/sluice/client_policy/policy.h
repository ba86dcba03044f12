// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The client's two policies, task scheduling and work fetch, with the simulations that both begin with (seed 001).
// Pure: a state in, decisions out.
#include <optional>
#include <vector>

#include "sluice/client_policy/state.h"

namespace sluice::client {

/// What weighted round-robin makes of the queue, for one processor type.
struct Forecast {
    double shortfall = 0;       ///< instance-seconds without work before max_buffer
    double idle_instances = 0;  ///< now
    double saturated = 0;       ///< seconds from now until the first instance is idle
};

struct RoundRobin {
    std::vector<Forecast> types;
    std::vector<double> finish;  ///< of each job, seconds from now
    std::vector<bool> misses;    ///< each job: its deadline is missed
};

/// Simulates the queue: first in, first out within a project, projects by their shares. A job starts when its instances
/// are free, and no later job of its project overtakes it; a job that uses a fraction of a CPU beside its GPU keeps no
/// CPU job from starting. A deadline is missed when now + finish > deadline (seed), > deadline - max(work_buf_min, 180
/// s) (client).
RoundRobin round_robin(const State& state);

/// For each type: seconds from now during which all its instances are busy when only the jobs that miss their deadlines
/// run, by deadline. A request sends it as estimated_delay: no new job could start before.
std::vector<double> busy_times(const State& state, const std::vector<bool>& misses);

/// SP(P) = -REC(P)/share(P), both as parts of their sums over all projects. Projects without a share come after all
/// others.
std::vector<double> priorities(const State& state);

/// REC after `seconds` in which the project's jobs did `work` (in any unit, the same for all projects): it halves in
/// ten days, and nears the work of a day.
double rec_after(double rec, double seconds, double work);

/// The jobs to run now, in the order in which they are chosen: for each type but the CPU jobs in danger by deadline,
/// the same for the CPU; then the others for each type by the priority of their projects, at last the CPU's. Each
/// choice charges a copy of REC with an hour. In danger, by the seed, are the jobs that miss; by the client, as many
/// jobs of a project as miss, those with the earliest deadlines. A job that runs keeps its place until its time slice
/// is over, but makes way for jobs in danger; jobs that leave too little memory are passed over.
std::vector<std::size_t> jobs_to_run(const State& state, const RoundRobin& forecast);

/// A running job has had its slice, and has written a checkpoint after the slice's end.
bool slice_is_over(const Job& job, const State& state);

struct Preemption {
    std::size_t job = 0;
    bool in_memory = false;  ///< stays there: the volunteer wishes it, or it never wrote a checkpoint; never a GPU job
    double lost = 0;         ///< seconds of work since the last checkpoint that it has to do again
};

/// What becomes of the running jobs that `run` leaves out.
std::vector<Preemption> preemptions(const State& state, const std::vector<std::size_t>& run);

struct TypeRequest {
    double seconds = 0;    ///< 0: this type is not asked for
    double instances = 0;  ///< idle ones to be filled
};

struct FetchRequest {
    std::size_t project = 0;
    std::vector<TypeRequest> types;
};

/// What is asked, of which project; nullopt: nothing. Asked for is a type that is saturated for less than work_buf_min,
/// of the fetchable project with the greatest priority that is not backed off for it; in the same request every other
/// type that is not saturated until max_buffer, unless a project with greater priority could be asked for it, even if
/// this one is backed off for it. A project's queued work lowers its priority.
std::optional<FetchRequest> work_to_fetch(const State& state, const RoundRobin& forecast);

/// What is asked of `project` in an RPC that takes place for another reason: every type that is not saturated until
/// max_buffer, unless a project with greater priority could be asked for it. By the client's rules also types for
/// which the project is backed off.
std::optional<FetchRequest> work_to_piggyback(const State& state, const RoundRobin& forecast, std::size_t project);

}  // namespace sluice::client
