// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What no scheduler could be better than: a batch alone on the fleet, with the hosts' future known.
#include <optional>
#include <vector>

#include "sched/sim/fleet_result.h"
#include "sched/sim/population.h"
#include "sched/sim/recorder.h"

namespace sluice::sim {

/// A host as it was in the simulation.
struct HostRecord {
    HostSpec spec;
    double joined = 0, left = 0;  ///< clock; left: infinite while it is there
    std::vector<float> contacts;  ///< hours since the simulation's start
};

/// Of the batches given. Nothing if there are more pairs of hosts and batches than are worth the time.
Bounds lower_bounds(const std::vector<HostRecord>& hosts, const std::vector<BatchRecord>& batches, std::uint64_t seed,
                    double start);

/// What a batch in the middle took, in times of its bound with real contacts; nothing without bounds.
std::optional<double> times_contact_bound(const FleetResult& result);

}  // namespace sluice::sim
