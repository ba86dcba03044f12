// SPDX-License-Identifier: LGPL-3.0-or-later
#include "src/client_policy/priority.h"

#include <cmath>

#include "sluice/client_policy/policy.h"

namespace sluice::client {

ProjectPriority::ProjectPriority(const State& state, const std::vector<bool>& projects) : state_(state) {
    for (std::size_t p = 0; p < state.projects.size(); ++p) {
        rec_.push_back(state.projects[p].rec);
        if (!projects[p]) continue;
        rec_sum_ += state.projects[p].rec;
        share_sum_ += state.projects[p].resource_share;
    }
    if (rec_sum_ <= 0) rec_sum_ = 1;
    for (const ProcessorType& t : state.types) processors_ += t.instances * t.speed;
}

ProjectPriority::ProjectPriority(const State& state)
    : ProjectPriority(state, std::vector<bool>(state.projects.size(), true)) {}

double ProjectPriority::of(std::size_t project) const {
    const double rec = rec_[project] / rec_sum_, share = state_.projects[project].resource_share;
    constexpr double kBehindAll = -1000;
    return share <= 0 ? kBehindAll - rec : 0 - rec / (share / share_sum_);
}

void ProjectPriority::charge(const Job& job, double seconds) {
    if (processors_ <= 0) return;
    const double used = job.instances * state_.types[job.type].speed + job.cpus;
    rec_[job.project] += used / processors_ * rec_sum_ * seconds / 86400;
}

std::vector<double> priorities(const State& state) {
    const ProjectPriority priority(state);
    std::vector<double> all;
    for (std::size_t p = 0; p < state.projects.size(); ++p) all.push_back(priority.of(p));
    return all;
}

double rec_after(double rec, double seconds, double work) {
    constexpr double kDay = 86400, kHalfLife = 10 * kDay;
    if (seconds <= 0) return rec;
    const double forgotten = -std::expm1(-seconds / kHalfLife * std::log(2.0));
    return rec * (1 - forgotten) + work / (seconds / kDay) * forgotten;
}

std::vector<bool> projects_with_jobs(const State& state) {
    std::vector<bool> have(state.projects.size());
    for (const Job& j : state.jobs) have[j.project] = true;
    return have;
}

std::vector<std::size_t> gpus_then_cpu(const State& state) {
    std::vector<std::size_t> order;
    for (const bool cpu : {false, true})
        for (std::size_t t = 0; t < state.types.size(); ++t)
            if (state.types[t].is_cpu == cpu) order.push_back(t);
    return order;
}

}  // namespace sluice::client
