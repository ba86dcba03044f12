// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Gangs in a simulated project: they are submitted as sluice_batch does it, and their members meet in a GangHall.
#include <map>
#include <string>

#include "db/memory/gang_store.h"
#include "db/memory/plan_store.h"
#include "sched/sim/gang_hall.h"
#include "sched/sim/scenario.h"
#include "sluice/base/clock.h"

namespace sluice::sim {

class GangRun {
  public:
    GangRun(MemoryDb& db, const Clock& clock);

    /// The jobs of a batch, from `first` on: whole gangs, that are in the database.
    void submit(Id batch, Id first, const WorkSpec& work, bool measured);
    GangHall& hall() { return hall_; }
    /// The figures of FleetResult::more.
    void tell(std::map<std::string, double>& more) const;

  private:
    MemoryDb& db_;
    const Clock& clock_;
    MemoryGangStore gangs_;
    MemoryPlanStore plans_;
    GangHall hall_;
    bool any_ = false;
};

}  // namespace sluice::sim
