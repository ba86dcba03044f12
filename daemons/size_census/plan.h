// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Effective speeds of the devices that run an app, and their quantiles (seed 003, job size matching, "Computing device
// quantiles"; upstream's size_census). Pure.
#include <string>
#include <vector>

#include "sluice/db/size_store.h"
#include "sluice/model/resource_of.h"

namespace sluice {

/// Fraction of the time that the device computes: on_frac * active_frac for CPU versions; for GPU versions on_frac *
/// gpu_active_frac, or active_frac where the client does not tell the GPU's. Bad values (negative, over 1, not a
/// number) count as 0 or 1.
double availability(const SpeedRecord& record, const ResourceOf& resource);

/// Flops per second of wall time: availability / et_avg. 0 if that is no usable number.
double effective_speed(const SpeedRecord& record, const ResourceOf& resource);

/// The classes - 1 points that cut the speeds into `classes` groups: point i is element floor(i * n / classes) of the
/// ascending speeds; with `between` half way to the next slower one, if there is one: upstream's borders are speeds of
/// devices, whose class then changes with every job that they return. Reorders `speeds`. Empty if there are no speeds.
std::vector<double> quantiles(std::vector<double>& speeds, int classes, bool between = false);

/// A line "%e" each, as upstream's PHP prints it: the exponent without leading zeros, 1.500000e+9.
std::string census_text(const std::vector<double>& quantiles);

}  // namespace sluice
