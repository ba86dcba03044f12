#include "daemons/batch_planner/batches_plan.h"

#include <algorithm>
#include <cmath>

#include "sluice/model/batch_plan.h"

namespace sluice {
namespace {

constexpr double kLeastJob = 1;      ///< s: an estimate of 0 is no reason to expect a batch at once
constexpr double kExactTo = 0.002;   ///< of T; a plan is as good as its estimates
constexpr float kNeverDone = 1e30F;  ///< s

/// Wall seconds of one job on each host, with the margin.
std::vector<float> job_seconds(const FleetCapacity& fleet, const BatchDemand& demand, double margin) {
    std::vector<float> seconds(fleet.size());
    const auto none = fleet.takes_none.find(demand.app);
    for (std::size_t h = 0; h < fleet.size(); ++h) {
        if (none != fleet.takes_none.end() && none->second[h]) {
            seconds[h] = kNeverDone;
            continue;
        }
        const double computing = fleet.computing(h, demand.app, demand.mean_fpops);
        const double wall = margin * planned_run_time(computing, fleet.availability[h]);
        seconds[h] = wall < kNeverDone ? static_cast<float>(wall) : kNeverDone;
    }
    return seconds;
}

/// Jobs done by `t` by all hosts.
double fleet_done_by(const FleetCapacity& fleet, const std::vector<float>& seconds, double t) {
    double sum = 0;
    for (std::size_t h = 0; h < fleet.size(); ++h) {
        const auto room = static_cast<float>(t - fleet.free_at[h]);
        if (room < seconds[h]) continue;
        sum += static_cast<double>(static_cast<std::int64_t>(room / seconds[h])) * fleet.cpus[h];
    }
    return sum;
}

/// When so many hosts have done a job each (all, where there are fewer). Hosts that would need longer than `most` for
/// one are none: a volunteer whose client tells an absurd speed must not keep a small fleet from being planned.
double nth_first(const FleetCapacity& fleet, const std::vector<float>& seconds, std::size_t n, double most) {
    if (n == 0) return 0;
    std::vector<double> first;  // the n least so far, the largest of them in front
    for (std::size_t h = 0; h < fleet.size(); ++h) {
        if (seconds[h] > most) continue;
        const double end = fleet.free_at[h] + seconds[h];
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
double least_time(const FleetCapacity& fleet, const std::vector<float>& seconds, double jobs, double start,
                  double most) {
    Bound low, high{std::max(start, 1.0), 0};
    high.done = fleet_done_by(fleet, seconds, high.t);
    if (high.done >= jobs) return high.t;
    while (high.done < jobs) {
        const double rate = (high.done - low.done) / (high.t - low.t);
        low = high;
        if (low.t > most) return low.t;
        const double line = rate > 0 ? low.t + 1.1 * (jobs - low.done) / rate : 2 * low.t;
        high.t = std::clamp(line, 1.2 * low.t, 4 * low.t);
        high.done = fleet_done_by(fleet, seconds, high.t);
    }
    bool halve = false;
    while (high.t - low.t > std::max(kExactTo * high.t, 1.0)) {
        const double room = high.t - low.t, line = (jobs - low.done) / (high.done - low.done);
        const double t = low.t + room * (halve ? 0.5 : std::clamp(line, 0.02, 0.98));
        const double done = fleet_done_by(fleet, seconds, t);
        (done >= jobs ? high : low) = {t, done};
        halve = high.t - low.t > 0.5 * room;
    }
    return high.t;
}

BatchTarget plan_one(FleetCapacity& fleet, const BatchDemand& demand, const PlanRules& rules) {
    BatchTarget target{demand.batch, false, 0, 0};
    const std::vector<float> seconds = job_seconds(fleet, demand, rules.margin);
    const double few = std::max(
        {nth_first(fleet, seconds, rules.min_hosts, rules.horizon), rules.least, rules.patience * demand.waited});
    if (few > rules.horizon) return target;
    target.finish = few;
    if (demand.jobs > 0)
        target.finish = least_time(fleet, seconds, static_cast<double>(demand.jobs), few, rules.horizon);
    if (target.finish > rules.horizon) return target;
    target.planned = true;
    for (std::size_t h = 0; h < fleet.size(); ++h) {
        if (target.finish - fleet.free_at[h] < seconds[h]) continue;
        ++target.hosts;
        if (demand.jobs > 0) fleet.free_at[h] = target.finish;  // later batches get what is left
    }
    return target;
}

}  // namespace

double FleetCapacity::computing(std::size_t host, Id app, double fpops) const {
    const auto of_app = measured.find(app);
    double per_op = of_app == measured.end() ? 0 : of_app->second[host];
    if (!(per_op > 0)) per_op = seconds_per_op[host];
    return std::max(fpops * per_op, kLeastJob);
}

std::int64_t jobs_by(const FleetCapacity& fleet, std::size_t host, double seconds, double finish) {
    const double room = finish - fleet.free_at[host];
    return room < seconds ? 0 : static_cast<std::int64_t>(room / seconds) * fleet.cpus[host];
}

std::vector<BatchTarget> plan_batches(FleetCapacity& fleet, const std::vector<BatchDemand>& demands,
                                      const PlanRules& rules) {
    std::vector<BatchTarget> targets;
    for (const BatchDemand& demand : demands)
        targets.push_back(fleet.size() == 0 ? BatchTarget{demand.batch, false, 0, 0} : plan_one(fleet, demand, rules));
    return targets;
}

}  // namespace sluice
