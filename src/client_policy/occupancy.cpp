#include "src/client_policy/occupancy.h"

#include <algorithm>
#include <cmath>

namespace sluice::client {

/// Sums of fractions (three thirds of a GPU) are not exact.
constexpr double kRounding = 1e-6;

Occupancy::Occupancy(const State& state) : state_(state), used_(state.types.size()) {}

double Occupancy::wanted(const Job& job) const { return std::min(job.instances, state_.types[job.type].instances); }

bool Occupancy::full(std::size_t type) const { return used_[type] > state_.types[type].instances - kRounding; }

double Occupancy::idle(std::size_t type) const { return std::max(0.0, state_.types[type].instances - used_[type]); }

bool Occupancy::fits_beside(const Job& job, double used) const {
    const ProcessorType& type = state_.types[job.type];
    if (full(job.type)) return false;
    if (type.is_cpu && job.instances <= 1) return true;
    return used + wanted(job) <= type.instances + kRounding;
}

bool Occupancy::fits(const Job& job) const {
    const double used = used_[job.type];
    return fits_beside(job, state_.types[job.type].is_cpu ? std::floor(used + kRounding) : used);
}

bool Occupancy::may_start(const Job& job) const { return fits_beside(job, std::floor(used_[job.type] + kRounding)); }

void Occupancy::take(const Job& job) {
    used_[job.type] += wanted(job);
    if (state_.types[job.type].is_cpu) return;
    for (std::size_t t = 0; t < state_.types.size(); ++t)
        if (state_.types[t].is_cpu) used_[t] += job.cpus;
}

}  // namespace sluice::client
