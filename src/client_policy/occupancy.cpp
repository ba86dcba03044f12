// SPDX-License-Identifier: LGPL-3.0-or-later
#include "src/client_policy/occupancy.h"

#include <algorithm>
#include <cmath>

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

}  // namespace sluice::client
