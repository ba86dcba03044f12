// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "sched/match/plan_class_spec.h"

namespace sluice::match {

/// The GPU demands of a class, and what a job uses of GPU and CPU; fills `usage` if the host will do.
/// `need`: what the class demands, if the host has such a GPU.
Verdict gpu_usage(const MatchContext& context, const PlanClassSpec& spec, HostUsage& usage,
                  std::optional<GpuNeed>& need);
/// An OpenCL class without a GPU: one of the CPU's OpenCL platforms must do.
Verdict check_opencl_cpu(const MatchContext& context, const PlanClassSpec& spec);

}  // namespace sluice::match
