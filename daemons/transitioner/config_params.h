// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What config.xml decides of the transitioner's plan: for the program, and for others that run the same decisions
// elsewhere.
#include "config/project_config.h"
#include "daemons/transitioner/plan.h"

namespace sluice {

inline TransitionParams transition_params(const ProjectConfig& config) {
    return {.compat_level = config.compat_level,
            .priority_on_over = config.reliable_priority_on_over,
            .priority_on_over_except_error = config.reliable_priority_on_over_except_error,
            .delete_delay = config.delete_delay(),
            .hr_class_static = config.hr_class_static,
            .forgive_unstarted = gives_up_early(config.compat_level, config.plan_batches, config.gang_hub),
            .daily_result_quota = config.daily_result_quota};
}

}  // namespace sluice
