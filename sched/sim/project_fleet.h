// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A fleet like that of a real project: its machines, as the trace that a scenario takes; nothing that says whose they
// are.
#include <string>

#include "sched/sim/scenario.h"
#include "sluice/db/fleet_store.h"

namespace sluice::sim {

/// A trace (docs/simulator.md) of the hosts that were heard of in the 30 days before `now`, at most a million. Hosts
/// whose speed nobody measured are left out. Throws Error if none is left.
std::string fleet_csv(FleetStore& store, std::int64_t now);
/// The scenario's apps get what the project's apps of those names have; the others that the project has come to them.
void take_apps(FleetStore& store, Scenario& scenario);

/// Of the project in that folder.
std::string fleet_csv(const std::string& project);
/// Hosts and apps of the project in that folder instead of the scenario's.
void take_fleet(const std::string& project, Scenario& scenario);

}  // namespace sluice::sim
