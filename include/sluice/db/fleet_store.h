// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What a simulation asks of a project's database: its machines and apps. Nothing that says whose they are.
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/catalogue.h"

namespace sluice {

struct Host;

class FleetStore {
  public:
    virtual ~FleetStore() = default;
    /// Streams the newest `most` hosts that were heard of after that time: their processors, memory, disk, system,
    /// on_frac, active_frac and avg_turnaround; everything else is empty.
    virtual void hosts(std::int64_t heard_since, int most, const std::function<void(const Host&)>& row) = 0;
    /// Name, size classes and homogeneous redundancy of the apps that are not deprecated, by id.
    virtual std::vector<App> apps() = 0;
};

/// `db` outlives the store.
std::unique_ptr<FleetStore> make_fleet_store(Database& db);

}  // namespace sluice
