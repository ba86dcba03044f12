// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Speed and trust of a version on this host, from statistics.
#include "sched/match/candidate.h"

namespace sluice::match {

const HostAppVersion* find_row(const HostFacts& host, Id generalized_id);
bool is_reliable(const MatchContext& context, const HostAppVersion* row);
bool is_trusted(const MatchContext& context, const HostAppVersion* row);

struct SpeedEstimate {
    double flops = 0;
    bool guess = true;  ///< no history of this host
};
/// From host_app_version, else the version's statistics, else the benchmark.
SpeedEstimate estimate_speed(const MatchContext& context, const AppVersion& version, const HostAppVersion* row,
                             const HostUsage& usage);
/// What versions are compared by: plan class figure and estimate mixed by experience, with a random factor that lets
/// every version be tried now and then.
double compared_speed(const MatchContext& context, const HostAppVersion* row, double plan_class_flops, double estimate);

}  // namespace sluice::match
