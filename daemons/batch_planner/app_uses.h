// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What a job of an app takes of a host: by the plan classes of the versions that the scheduler would choose from.
#include <unordered_map>
#include <vector>

#include "daemons/batch_planner/batches_plan.h"
#include "sluice/db/plan_store.h"
#include "sluice/match/cpu_use.h"
#include "sluice/match/plan_classes.h"

namespace sluice {

class AppUses {
  public:
    AppUses() = default;
    AppUses(const std::vector<AppVersionUse>& versions, const PlanClasses& classes, int compat_level);
    /// An app without an entry is one for processors: no version of it is known.
    const std::unordered_map<Id, AppUse>& of_apps() const { return apps_; }
    /// Sent versions for processors, of an app of which a job may take several. Null: it takes one, on any host.
    const std::vector<CpuUse>* threads_of_app(Id app) const;
    /// What a job of a version for processors takes, `version` as type_of() has it; one of a client's own: one.
    CpuUse cpu_use(Id version) const;
    /// The resource of a version: app_version.id, generalized_version_id(), or as result.app_version_id has it.
    ProcType type_of(Id version) const;

  private:
    std::unordered_map<Id, AppUse> apps_;
    std::unordered_map<Id, ProcType> gpu_versions_;
    std::unordered_map<Id, CpuUse> cpu_versions_;  ///< those whose class says something of it
    std::unordered_map<Id, std::vector<CpuUse>> threads_;
};

/// Operations of rsc_fpops_est a second of one job, as long as nobody has measured it on the host: the scheduler's own
/// estimate. `benchmark`: of a processor, `peak`: of a device; a second's operations.
double unmeasured_speed(const ResourceUse& use, double benchmark, double peak);

}  // namespace sluice
