// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// How many jobs the client puts on its list, and how many of them it runs. By the seed's rules both are what the
// processors hold; the real client lists generously and is strict when it starts jobs.
#include <vector>

#include "src/client_policy/occupancy.h"

namespace sluice::client {

/// While the list is made. The client counts jobs of one CPU and of several apart, and no CPUs of GPU jobs, so that
/// something is left to run when a job of the list can't.
class ListRoom {
  public:
    explicit ListRoom(const State& state);
    bool full(std::size_t type) const;
    bool admits(const Job& job) const;
    void reserve(const Job& job);

  private:
    const State& state_;
    Occupancy used_;
    double cpus_one_ = 0, cpus_several_ = 0;  ///< of jobs that use at most one CPU, and more
};

/// While jobs of the list are started. The client starts a CPU job as long as one CPU is free, however many it uses,
/// and GPU jobs up to one CPU more than there are; a whole GPU must be free, or the fraction on one GPU.
class RunRoom {
  public:
    explicit RunRoom(const State& state);
    bool admits(const Job& job) const;
    void take(const Job& job);

  private:
    bool places(const Job& job, std::vector<std::size_t>& at) const;

    const State& state_;
    Occupancy used_;
    double cpus_ = 0, cpus_used_ = 0;
    bool has_cpu_ = false;
    std::vector<std::vector<double>> gpus_;  ///< of each type: what is used of each instance
};

}  // namespace sluice::client
