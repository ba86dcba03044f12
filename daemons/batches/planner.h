// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// One pass of batch_planner: reads hosts and batches, plans, publishes, and gives up instances that missed the plan.
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/project_config.h"
#include "daemons/batches/fleet_reader.h"
#include "daemons/batches/planner_memory.h"
#include "daemons/batches/planner_plan.h"
#include "sluice/base/clock.h"
#include "sluice/base/timing.h"
#include "sluice/daemon/service.h"
#include "sluice/db/batch_plan_store.h"
#include "sluice/db/batch_store.h"
#include "sluice/match/plan_classes.h"
#include "sluice/model/batch.h"

namespace sluice {

/// An instance in progress of a batch of which no job waits for a host.
struct LastInstance {
    OpenBatchResult result;
    double end = 0;  ///< UNIX s: expected; HUGE_VAL if that is past
};

/// Copies that a batch may still have: at most `part` of its jobs in all.
std::int64_t copies_left(double part, int jobs, std::int64_t made);

/// Of which instances copies are made: those that end later than `another`, T, by when hosts of H would have done the
/// job if they got it now. The latest first, at most `most`, one of a workunit.
std::vector<OpenBatchResult> instances_to_copy(std::vector<LastInstance> last, double another, std::int64_t most);

struct PlannerSettings {
    PlanRules rules;
    bool by_logical_end_time = false;        ///< the batches' order; else by creation
    int compat_level = 0;                    ///< plan classes differ by it
    bool give_up = false;                    ///< instances that miss the plan, for another one
    double copies = 0;                       ///< of a batch's last jobs: at most this part of its jobs; 0: none
    bool dry_run = false;                    ///< prints the plan, writes nothing
    bool one_pass = false;                   ///< a pass that changes nothing says so, too
    double every = 60;                       ///< s between two passes
    bool used = false;                       ///< <plan_batches>: schedulers go by the plan
    std::function<void()> before_turn = {};  ///< may be empty
};

struct PlannerOutcome {
    std::size_t batches = 0, planned = 0, hosts = 0, left_out = 0;
    std::int64_t given_up = 0, copies = 0, version = 0;
    bool news = false;  ///< a batch is in progress that was not at the last pass, and that no plan before knew
};

struct PlannerStores {
    BatchPlanFactsStore& facts;
    BatchPlanStore& plans;
    BatchUpkeepStore& batches;
};

class BatchPlanner {
  public:
    /// All outlive the pass. The plan classes say which resource an app's versions are for.
    BatchPlanner(const PlannerSettings& settings, const PlannerStores& stores, const PlanClasses& classes,
                 const Clock& clock);
    PlannerOutcome run();
    /// Of one batch: T, and which hosts are in H or why not, for a person. Writes nothing. Throws ConfigError.
    std::string explain(Id batch);
    /// The next pass would have some.
    bool has_news();

  private:
    struct Facts;
    void read(Facts& facts);
    void read_fleet(Facts& facts);
    void take_over();
    void learn_run_times(Facts& facts);
    void learn_how_sure(const Facts& facts, const std::vector<std::pair<Id, double>>& completions);
    void take_what_hosts_hold(Facts& facts);
    void leave_out_who_takes_none(Facts& facts);
    void count_on_hosts(const Facts& facts, const std::vector<BatchTarget>& targets);
    std::vector<ReissueTimer> new_timers(const Facts& facts) const;
    std::int64_t keep_timers(const Facts& facts);
    /// When another instance may be made of a job of which this one is in progress.
    double chance_ends(const Facts& facts, const OpenBatchResult& r) const;
    /// Of its batch all is sent, and it has had its chance, or its host had it with the jobs before it.
    std::set<Id> past_their_chance(const Facts& facts) const;
    std::int64_t make_copies(const Facts& facts, const BatchPlan& plan);
    BatchPlan plan_of(const Facts& facts, const std::vector<BatchTarget>& targets) const;
    std::vector<std::pair<Id, double>> completions(const Facts& facts, const BatchPlan& plan) const;
    std::string copies_text(const std::vector<Batch>& batches, Id batch);
    void say(const Facts& facts, const BatchPlan& plan);
    bool is_news(Id batch) const;

    const PlannerSettings& settings_;
    PlannerStores stores_;
    const PlanClasses& classes_;
    const Clock& clock_;
    FleetMemory memory_;
    HostQueues queues_;
    UnresponsiveHosts unresponsive_;
    RunTimeRatios ratios_;
    EtaRecord etas_;
    EtaFactors factors_;              ///< as they are stored
    bool started_ = false;            ///< ratios_
    BatchPlan last_;                  ///< what instances that are new now were sent by
    std::map<Id, double> announced_;  ///< batch -> its first T, of those in progress
    std::set<Id> seen_;               ///< batches that were in progress at the last pass
};

/// batch_planner. A pass reads every instance of every batch, and the jobs of a new batch wait for a pass. So the
/// service looks for new batches between two passes.
class PlannerService final : public Service {
  public:
    /// s between two looks for new batches.
    static constexpr double kLook = 10;
    /// All outlive it.
    PlannerService(const PlannerSettings& settings, BatchPlanner& planner, const Clock& clock, Notices& notices);
    bool pass_is_due() const { return passes_.due(clock_.now()); }
    Turn turn() override;

  private:
    const PlannerSettings& settings_;
    BatchPlanner& planner_;
    const Clock& clock_;
    Notices& notices_;
    Periodic passes_;
};

/// What config.xml says to batch_planner: one place for its program and for sluice_sim.
inline void take_config(PlannerSettings& settings, const ProjectConfig& config) {
    settings.used = config.plan_batches;
    settings.give_up = settings.give_up || config.plan_batches;
    settings.compat_level = config.compat_level;
    settings.by_logical_end_time = config.share_rule != ShareOrder::kOff;
}

}  // namespace sluice
