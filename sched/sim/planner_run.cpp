#include "sched/sim/planner_run.h"

#include "daemons/batch_upkeep/upkeep_pass.h"

namespace sluice::sim {
namespace {

PlannerSettings settings_of(const Scenario& scenario) {
    PlannerSettings settings;
    settings.rules.margin = scenario.planner_margin;
    settings.rules.horizon = scenario.planner_horizon_hours * kHour;
    settings.give_up = true;
    settings.compat_level = scenario.compat_level;
    settings.copies = scenario.planner_copies;
    return settings;
}

}  // namespace

PlannerRun::PlannerRun(const Scenario& scenario, MemoryDb& db, const PlanClasses& classes, const Clock& clock)
    : on_(scenario.planner_every_minutes > 0),
      settings_(settings_of(scenario)),
      facts_(db),
      plans_(db),
      batches_(db),
      clock_(clock),
      pass_(settings_, {facts_, plans_, batches_}, classes, clock_),
      turns_(pass_, clock_, 60 * scenario.planner_every_minutes) {}

PlannerTurns::Turn PlannerRun::turn(JobWatcher& watcher) {
    if (!on_) return {};
    if (turns_.pass_is_due()) upkeep_pass(batches_, {}, clock_);
    const PlannerTurns::Turn turn = turns_.take();
    if (!turn.pass) return turn;
    const BatchPlan plan = plans_.plan();
    const EtaFactors factors = plans_.eta_factors();
    for (const Batch& b : batches_.in_progress(clock_.now_sec()))
        if (plan.find_batch(b.id) != nullptr) watcher.expected(b.id, b.est_completion_time, factors);
    return turn;
}

}  // namespace sluice::sim
