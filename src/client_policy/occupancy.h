// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Instances that jobs occupy at one moment.
#include <vector>

#include "sluice/client_policy/state.h"

namespace sluice::client {

class Occupancy {
  public:
    explicit Occupancy(const State& state);

    /// Are the instances of its own type free? A job that wants more than there are takes all. The fraction of a CPU
    /// that GPU jobs use beside their GPU does not count against a CPU job: the client, too, starts one too many rather
    /// than leave a CPU idle.
    bool fits(const Job& job) const;
    /// The same in the client's simulation, which lets a job start on what fractions of other jobs leave, too.
    bool may_start(const Job& job) const;
    void take(const Job& job);
    bool full(std::size_t type) const;
    double idle(std::size_t type) const;

  private:
    double wanted(const Job& job) const;

    const State& state_;
    std::vector<double> used_, beside_;  ///< of each type; of the CPU by jobs of other types
};

}  // namespace sluice::client
