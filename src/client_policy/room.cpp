// SPDX-License-Identifier: LGPL-3.0-or-later
#include "src/client_policy/room.h"

#include <algorithm>
#include <cmath>

namespace sluice::client {

constexpr double kRoundingOfRoom = 1e-6;

ListRoom::ListRoom(const State& state) : state_(state), used_(state) {}

bool ListRoom::full(std::size_t type) const {
    const ProcessorType& t = state_.types[type];
    if (state_.rules == Rules::kSeed || !t.is_cpu) return used_.full(type);
    return cpus_one_ > t.instances - kRoundingOfRoom || cpus_several_ > 2 * t.instances - kRoundingOfRoom;
}

bool ListRoom::admits(const Job& job) const {
    const ProcessorType& t = state_.types[job.type];
    if (state_.rules == Rules::kSeed || !t.is_cpu) return used_.fits(job);
    if (job.instances <= 1) return cpus_one_ < t.instances - kRoundingOfRoom;
    return cpus_several_ == 0 || cpus_several_ + job.instances <= t.instances + kRoundingOfRoom;
}

void ListRoom::reserve(const Job& job) {
    if (state_.rules == Rules::kSeed || !state_.types[job.type].is_cpu)
        used_.take(job);
    else
        (job.instances <= 1 ? cpus_one_ : cpus_several_) += job.instances;
}

RunRoom::RunRoom(const State& state) : state_(state), used_(state) {
    for (const ProcessorType& t : state.types) {
        gpus_.emplace_back(t.is_cpu ? 0 : static_cast<std::size_t>(std::ceil(t.instances)));
        if (t.is_cpu) has_cpu_ = true, cpus_ = t.instances;
    }
}

/// On which instances the job would run: a fraction on one that has room, otherwise free ones.
bool RunRoom::places(const Job& job, std::vector<std::size_t>& at) const {
    const auto& gpus = gpus_[job.type];
    const double part = std::min(1.0, job.instances);
    const auto wanted = std::min(static_cast<std::size_t>(std::ceil(job.instances - kRoundingOfRoom)), gpus.size());
    for (std::size_t i = 0; i < gpus.size() && at.size() < wanted; ++i)
        if (gpus[i] + part <= 1 + kRoundingOfRoom) at.push_back(i);
    return at.size() == wanted;
}

bool RunRoom::admits(const Job& job) const {
    if (state_.rules == Rules::kSeed) return used_.fits(job);
    const bool cpu_job = state_.types[job.type].is_cpu;
    if (has_cpu_ && cpus_used_ > cpus_ - kRoundingOfRoom &&
        (cpu_job || cpus_used_ + job.cpus > cpus_ + 1 + kRoundingOfRoom))
        return false;
    std::vector<std::size_t> at;
    return cpu_job || places(job, at);
}

void RunRoom::take(const Job& job) {
    if (state_.rules == Rules::kSeed) return used_.take(job);
    cpus_used_ += state_.types[job.type].is_cpu ? job.instances : job.cpus;
    std::vector<std::size_t> at;
    if (state_.types[job.type].is_cpu || !places(job, at)) return;
    for (const std::size_t i : at) gpus_[job.type][i] += std::min(1.0, job.instances);
}

}  // namespace sluice::client
