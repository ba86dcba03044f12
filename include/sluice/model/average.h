// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The running averages of BOINC's statistics. Formulas: upstream behaviour (its column values must stay comparable).

namespace sluice {

/// Running mean and variance with upstream's names: n samples, mean avg, variance var, q the sum it comes from.
struct Average {
    double n = 0, avg = 0, var = 0, q = 0;
};

/// How a running average forgets.
struct AverageRule {
    double threshold;  ///< samples after which the mean becomes exponential
    double weight;     ///< of a new sample then
    double limit;      ///< a sample above limit * mean is cut to that
};
inline constexpr AverageRule kHostVersionRule{20, 0.01, 10};  ///< host_app_version.pfc, et, turnaround
inline constexpr AverageRule kVersionRule{100, 0.001, 10};    ///< app_version.pfc

/// Mean only (pfc). True if the sample was negative (ignored) or had to be cut.
bool add_sample(double& n, double& avg, double sample, const AverageRule& rule);
/// Mean and variance (et, turnaround).
bool add_sample(Average& average, double sample, const AverageRule& rule);

/// Recent average credit (per day), half-life one week: `work` done since `started` (UNIX s; 0 with work 0 decays
/// only) is added, and `avg_time` becomes `now`.
void add_credit(double now, double started, double work, double& avg, double& avg_time);

}  // namespace sluice
