// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The settings of the programs in a simulation, as the scenario gives them. All throw ConfigError: what is wrong, in
// one line.
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>

#include "config/project_config.h"
#include "daemons/batches/acceleration.h"
#include "daemons/batches/planner.h"
#include "daemons/batches/shares.h"
#include "daemons/batches/turnaround.h"
#include "daemons/size_regulator/regulator.h"
#include "daemons/transitioner/transitioner.h"
#include "db/memory/memory_db.h"
#include "feeder/options.h"
#include "sched/sim/scenario.h"
#include "sluice/base/env.h"
#include "sluice/match/plan_classes.h"
#include "sluice/model/eta.h"

namespace sluice::sim {

/// `folder`: where the simulation's files are.
ProjectConfig make_config(const Scenario& scenario, const std::filesystem::path& folder);
/// Of the feeder's command line.
FeederOptions feeder_options(const std::string& command, Env env);
RegulatorSettings regulator_settings(const Scenario& scenario, const ProjectConfig& config);
StatsSettings stats_settings_of(const Scenario& scenario, const ProjectConfig& config);
AccelOptions accel_options_of(const Scenario& scenario);
PlannerSettings planner_settings_of(const Scenario& scenario, const ProjectConfig& config);
/// The scenario has batch_shares.
SharesOptions shares_options_of(const Scenario& scenario, const ProjectConfig& config);

// The project's daemons and tasks in a simulation: the services of the programs, as they are, on a database in memory.
// The scenario says which of them run and with which options (project_settings.h); when each acts it says itself.

/// What services work on, and whom they tell. All outlives them.
struct ServiceWorld {
    const Scenario& scenario;
    const ProjectConfig& config;
    MemoryDb& db;
    Env env;
    const PlanClasses& plan_classes;
    /// Results with a wrong output, by name.
    const std::unordered_set<std::string>& wrong_results;
    // What is modelled. It has its turn at each look.
    std::function<void()> assimilate, clean_up;
    /// batch_planner expects a batch to be done by then, and is so sure.
    std::function<void(Id batch, double time, const EtaFactors& factors)> expected;
    /// A daemon has asked the feeder to read its tables again.
    std::function<void()> reread;
};

class ProjectServices {
  public:
    /// Makes the file of census, too, as an admin does before the first start. Throws ConfigError: options that can't
    /// work.
    explicit ProjectServices(const ServiceWorld& world);
    ~ProjectServices();
    /// To be called every few seconds: whoever is due has a turn. Throws Error: a daemon gave up.
    void take_turns();
    /// The project has gangs from now on, and runs gang_planner.
    void start_gang_planner();

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace sluice::sim
