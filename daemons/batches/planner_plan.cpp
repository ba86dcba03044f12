// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/planner_plan.h"

#include <algorithm>
#include <cmath>

#include "sluice/match/cpu_use.h"
#include "sluice/model/batch_plan.h"

namespace sluice {
namespace {

constexpr double kLeastJob = 1;      ///< s: an estimate of 0 is no reason to expect a batch at once
constexpr double kExactTo = 0.002;   ///< of T; a plan is as good as its estimates
constexpr float kNeverDone = 1e30F;  ///< s

/// What the pools do for one batch.
struct Doers {
    std::vector<float> seconds;  ///< wall time of one job, with the margin
    std::vector<int> at_once;
};

Doers doers_of(const FleetCapacity& fleet, const BatchDemand& demand, double margin) {
    Doers doers{std::vector<float>(fleet.size(), kNeverDone), std::vector<int>(fleet.size())};
    const auto none = fleet.takes_none.find(demand.app);
    for (std::size_t p = 0; p < fleet.size(); ++p) {
        if (none != fleet.takes_none.end() && none->second[p]) continue;
        doers.at_once[p] = fleet.at_once(p, demand.app);
        if (doers.at_once[p] == 0) continue;
        const double computing = fleet.computing(p, demand.app, demand.mean_fpops);
        const double wall = margin * planned_run_time(computing, fleet.availability[p]);
        if (wall < kNeverDone) doers.seconds[p] = static_cast<float>(wall);
    }
    return doers;
}

/// Jobs done by `t` by all hosts.
double fleet_done_by(const FleetCapacity& fleet, const Doers& doers, double t) {
    double sum = 0;
    for (std::size_t p = 0; p < fleet.size(); ++p) {
        const auto room = static_cast<float>(t - fleet.free_at[p]);
        if (room < doers.seconds[p]) continue;
        sum += static_cast<double>(static_cast<std::int64_t>(room / doers.seconds[p])) * doers.at_once[p];
    }
    return sum;
}

/// When so many hosts have done a job each (all, where there are fewer). Hosts that would need longer than `most` for a
/// job do not count: one client with an absurd speed must not keep a small fleet from being planned.
double nth_first(const FleetCapacity& fleet, const Doers& doers, std::size_t n, double most) {
    if (n == 0) return 0;
    std::vector<double> first;  // the n least so far, the largest of them in front
    for (std::size_t p = 0; p < fleet.size();) {
        double end = kNeverDone;
        for (const Id host = fleet.ids[p]; p < fleet.size() && fleet.ids[p] == host; ++p)
            if (doers.seconds[p] <= most) end = std::min(end, fleet.free_at[p] + doers.seconds[p]);
        if (end >= kNeverDone) continue;
        if (first.size() == n) {
            if (end >= first.front()) continue;
            std::pop_heap(first.begin(), first.end());
            first.pop_back();
        }
        first.push_back(end);
        std::push_heap(first.begin(), first.end());
    }
    return first.empty() ? kNeverDone : first.front();
}

struct Bound {
    double t = 0, done = 0;
};

/// The least time from `start` on by which `jobs` are done, or anything above `most` if that is later. What is done
/// grows nearly evenly, so a straight line between the bounds mostly hits; where it does not, the bounds are halved.
double least_time(const FleetCapacity& fleet, const Doers& doers, double jobs, double start, double most) {
    Bound low, high{std::max(start, 1.0), 0};
    high.done = fleet_done_by(fleet, doers, high.t);
    if (high.done >= jobs) return high.t;
    while (high.done < jobs) {
        const double rate = (high.done - low.done) / (high.t - low.t);
        low = high;
        if (low.t > most) return low.t;
        const double line = rate > 0 ? low.t + 1.1 * (jobs - low.done) / rate : 2 * low.t;
        high.t = std::clamp(line, 1.2 * low.t, 4 * low.t);
        high.done = fleet_done_by(fleet, doers, high.t);
    }
    bool halve = false;
    while (high.t - low.t > std::max(kExactTo * high.t, 1.0)) {
        const double room = high.t - low.t, line = (jobs - low.done) / (high.done - low.done);
        const double t = low.t + room * (halve ? 0.5 : std::clamp(line, 0.02, 0.98));
        const double done = fleet_done_by(fleet, doers, t);
        (done >= jobs ? high : low) = {t, done};
        halve = high.t - low.t > 0.5 * room;
    }
    return high.t;
}

BatchTarget plan_one(FleetCapacity& fleet, const BatchDemand& demand, const PlanRules& rules) {
    BatchTarget target{demand.batch, false, 0, 0};
    const Doers doers = doers_of(fleet, demand, rules.margin);
    const double few = std::max(
        {nth_first(fleet, doers, rules.min_hosts, rules.horizon), rules.least, rules.patience * demand.waited});
    if (few > rules.horizon) return target;
    target.finish = few;
    if (demand.jobs > 0) target.finish = least_time(fleet, doers, static_cast<double>(demand.jobs), few, rules.horizon);
    if (target.finish > rules.horizon) return target;
    target.planned = true;
    Id last = 0;
    for (std::size_t p = 0; p < fleet.size(); ++p) {
        const double room = target.finish - fleet.free_at[p];
        if (room < doers.seconds[p]) continue;
        target.hosts += fleet.ids[p] != last;
        last = fleet.ids[p];
        if (demand.jobs == 0) continue;
        fleet.occupy(p, demand.app, 1, room);
        fleet.free_at[p] = target.finish;  // later batches get what is left
    }
    return target;
}

}  // namespace

double FleetCapacity::computing(std::size_t pool, Id app, double fpops) const {
    const auto of_app = measured.find(app);
    double per_op = of_app == measured.end() ? 0 : of_app->second[pool];
    if (!(per_op > 0)) per_op = seconds_per_op[pool];
    return std::max(fpops * per_op, kLeastJob);
}

int FleetCapacity::at_once(std::size_t pool, Id app) const {
    const auto of_app = uses.find(app);
    const bool on_processors = types[pool] == ProcType::kCpu;
    if (of_app == uses.end()) return on_processors ? cpus[pool] : 0;
    double each = of_app->second[static_cast<std::size_t>(types[pool])].devices;
    if (!(each > 0)) return 0;
    if (!on_processors) return planned_at_once(cpus[pool], each);
    if (const auto several = threads.find(app); several != threads.end()) each = several->second[pool];
    return each > 0 ? planned_at_once_on_processors(cpus[pool], each) : 0;
}

int FleetCapacity::held_at_once(std::size_t pool, Id app) const {
    const int now = at_once(pool, app);
    return now > 0 ? now : std::max(cpus[pool], 1);
}

void FleetCapacity::occupy(std::size_t pool, Id app, double part, double seconds) {
    free_at[pool] += part * seconds;
    const auto of_app = uses.find(app);
    if (types[pool] == ProcType::kCpu || of_app == uses.end()) return;
    const std::size_t cpu = processors(pool);
    const double jobs = part * held_at_once(pool, app);
    free_at[cpu] += jobs * seconds * of_app->second[static_cast<std::size_t>(types[pool])].cpus / cpus[cpu];
}

std::size_t FleetCapacity::processors(std::size_t pool) const {
    while (types[pool] != ProcType::kCpu) --pool;
    return pool;
}

std::size_t FleetCapacity::hosts() const {
    return static_cast<std::size_t>(std::count(types.begin(), types.end(), ProcType::kCpu));
}

std::int64_t jobs_by(const FleetCapacity& fleet, std::size_t pool, Id app, double seconds, double finish) {
    const double room = finish - fleet.free_at[pool];
    return room < seconds ? 0 : static_cast<std::int64_t>(room / seconds) * fleet.at_once(pool, app);
}

std::vector<BatchTarget> plan_batches(FleetCapacity& fleet, const std::vector<BatchDemand>& demands,
                                      const PlanRules& rules) {
    std::vector<BatchTarget> targets;
    for (const BatchDemand& demand : demands)
        targets.push_back(fleet.size() == 0 ? BatchTarget{demand.batch, false, 0, 0} : plan_one(fleet, demand, rules));
    return targets;
}

}  // namespace sluice
