// SPDX-License-Identifier: LGPL-3.0-or-later
#include "src/client_policy/priority.h"

#include <algorithm>
#include <cmath>

#include "sluice/client_policy/policy.h"

namespace sluice::client {

/// Sums of fractions (three thirds of a GPU) are not exact.
constexpr double kRounding = 1e-6;

Occupancy::Occupancy(const State& state) : state_(state), used_(state.types.size()), beside_(state.types.size()) {}

double Occupancy::wanted(const Job& job) const { return std::min(job.instances, state_.types[job.type].instances); }

bool Occupancy::full(std::size_t type) const { return used_[type] > state_.types[type].instances - kRounding; }

double Occupancy::idle(std::size_t type) const { return std::max(0.0, state_.types[type].instances - used_[type]); }

bool Occupancy::fits(const Job& job) const {
    if (full(job.type)) return false;
    const double beside = beside_[job.type], own = used_[job.type] - beside;
    return own + std::floor(beside + kRounding) + wanted(job) <= state_.types[job.type].instances + kRounding;
}

bool Occupancy::may_start(const Job& job) const {
    const ProcessorType& type = state_.types[job.type];
    if (full(job.type)) return false;
    if (type.is_cpu && job.instances <= 1) return true;
    return std::floor(used_[job.type] + kRounding) + wanted(job) <= type.instances + kRounding;
}

void Occupancy::take(const Job& job) {
    used_[job.type] += wanted(job);
    if (state_.types[job.type].is_cpu) return;
    for (std::size_t t = 0; t < state_.types.size(); ++t)
        if (state_.types[t].is_cpu) used_[t] += job.cpus, beside_[t] += job.cpus;
}

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
