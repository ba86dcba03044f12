// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which size class a job without one belongs to (seed 003: jobs of apps that have them are regulated by class).
#include <map>

namespace sluice {

/// The class whose jobs are nearest in size; the smallest if no job of any class is known. `typical`: rsc_fpops_est by
/// class, above 0.
int size_class_of(double rsc_fpops_est, const std::map<int, double>& typical);

}  // namespace sluice
