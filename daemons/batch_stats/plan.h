// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which flags and medians have to be written. Pure.
#include <map>
#include <vector>

#include "daemons/batch_stats/measure.h"

namespace sluice {

/// batch.expire_time values from here on are the dates that the web site stores there, not medians.
inline constexpr double kExpireDate = 1e9;

struct StatsFacts {
    std::vector<App> apps;  ///< as they are
    std::vector<std::pair<MeasuredBatch, BatchMeasure>> batches;
    std::map<Id, double> flagged;  ///< hosts with error_rate <> 0
    std::vector<Id> ltt_hosts;     ///< as they should be, sorted
    std::vector<Scores::AppVerdict> verdicts;
};

/// Only what differs.
StatsWrite plan_stats(const StatsFacts& facts);

struct VersionChanges {
    std::vector<VersionTurnaround> rows;
    std::vector<std::pair<Id, Id>> gone;
};
/// Both by host and version. A row changes with its verdict, its number of jobs, or a ratio that moved by a twentieth.
VersionChanges plan_versions(const std::vector<VersionTurnaround>& before, const std::vector<VersionTurnaround>& now);

}  // namespace sluice
