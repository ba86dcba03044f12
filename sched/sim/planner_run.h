#pragma once
// batch_planner in a simulated project, as its program runs it, on the virtual clock.
#include "daemons/batch_planner/planner_pass.h"
#include "db/memory/batch_store.h"
#include "db/memory/plan_store.h"
#include "sched/sim/project.h"
#include "sched/sim/scenario.h"

namespace sluice::sim {

class PlannerRun {
  public:
    /// All outlive it.
    PlannerRun(const Scenario& scenario, MemoryDb& db, const PlanClasses& classes, const Clock& clock);
    /// A pass, where the scenario has a planner and one is due; batches that are done are over then, too.
    PlannerTurns::Turn turn(JobWatcher& watcher);

  private:
    bool on_;
    PlannerSettings settings_;
    MemoryPlanFactsStore facts_;
    MemoryPlanStore plans_;
    MemoryBatchUpkeepStore batches_;
    const Clock& clock_;
    PlannerPass pass_;
    PlannerTurns turns_;
};

}  // namespace sluice::sim
