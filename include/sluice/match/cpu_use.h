// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What jobs take of processors, by the plan class of their version: the scheduler and the planner decide by it.
#include <algorithm>
#include <string>

#include "sluice/match/plan_classes.h"

namespace sluice {

/// What a job of a plan class's versions takes of processors, whatever else a client tells of its host.
struct CpuUse {
    double fixed = 0;      ///< so many on every host; 0: as many as there are, up to `most`
    double most = 1;       ///< threads
    double least = 0;      ///< processors that a host must have
    double projected = 1;  ///< times its processors: versions nobody has measured are compared by it
    /// On a host with so many; less than one where it is hardly busy.
    double processors(double of_host) const { return fixed > 0 ? fixed : std::min(most, std::max(of_host, 1.0)); }
    friend bool operator==(const CpuUse&, const CpuUse&) = default;
};
/// Jobs of planned batches that run on so many devices at a time, where each takes `each` of them.
inline int planned_at_once(double devices, double each) {
    constexpr double kLeastPart = 0.01, kRounding = 1e-9;
    return static_cast<int>(devices / std::max(each, kLeastPart) + kRounding);
}
/// The same of processors, `each` as HostUsage::avg_ncpus: a job that takes more than there are runs alone, and one
/// that takes less than one counts as one, for the host's owner has other work.
inline int planned_at_once_on_processors(double processors, double each) {
    return std::max(planned_at_once(processors, std::max(each, 1.0)), 1);
}

/// Of a class that is for processors; of "", and of a class that there is not, one processor.
CpuUse cpu_use(const PlanClasses& classes, const std::string& name, int compat_level);
CpuUse cpu_use(const PlanClassSpec& spec);

}  // namespace sluice
