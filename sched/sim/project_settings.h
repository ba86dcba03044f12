// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The settings of the programs in a run, as the scenario gives them. All throw ConfigError: what is wrong, in one line.
#include <filesystem>
#include <string>

#include "config/project_config.h"
#include "daemons/batches/acceleration.h"
#include "daemons/batches/planner.h"
#include "daemons/batches/shares.h"
#include "daemons/batches/turnaround.h"
#include "daemons/size_regulator/regulator.h"
#include "daemons/transitioner/transitioner.h"
#include "feeder/options.h"
#include "sched/sim/scenario.h"
#include "sluice/base/env.h"

namespace sluice::sim {

/// `folder`: where the run's files are.
ProjectConfig make_config(const Scenario& scenario, const std::filesystem::path& folder);
/// Of the feeder's command line.
FeederOptions feeder_options(const std::string& command, Env env);
RegulatorSettings regulator_settings(const Scenario& scenario, const ProjectConfig& config);
StatsSettings stats_settings_of(const Scenario& scenario, const ProjectConfig& config);
AccelOptions accel_options_of(const Scenario& scenario);
PlannerSettings planner_settings_of(const Scenario& scenario, const ProjectConfig& config);
/// The scenario has batch_shares.
SharesOptions shares_options_of(const Scenario& scenario, const ProjectConfig& config);

}  // namespace sluice::sim
