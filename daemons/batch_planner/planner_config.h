// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What config.xml says to batch_planner: one place for its program and for sluice_sim.
#include "config/project_config.h"
#include "daemons/batch_planner/planner_pass.h"

namespace sluice {

inline void take_config(PlannerSettings& settings, const ProjectConfig& config) {
    settings.used = config.plan_batches;
    settings.give_up = settings.give_up || config.plan_batches;
    settings.compat_level = config.compat_level;
    settings.by_logical_end_time = config.share_rule != ShareOrder::kOff;
}

}  // namespace sluice
