// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Thresholds of batch_stats on a command line; what is not given is what compat_level says.
#include <filesystem>
#include <optional>

#include "config/project_config.h"
#include "daemons/batches/turnaround.h"
#include "sluice/base/files.h"
#include "sluice/daemon/command_line.h"

namespace sluice {

class StatsOptions {
  public:
    void define(CommandLine& line);
    /// "" or what is wrong with the values.
    std::string check() const;
    StatsRules rules(int compat_level) const;

  private:
    std::optional<double> max_age_days_, min_success_frac_, fail_ratio_, ltt_below_, half_life_days_, min_ltt_frac_;
    std::optional<int> min_success_, min_jobs_, min_hosts_, count_errors_, count_in_progress_;
};

/// Where this project's statistics live, measured by `rules`.
StatsSettings stats_settings(const ProjectConfig& config, const StatsRules& rules);
/// Results are read from the replica, if there is one; never what is not committed: it would be remembered.
bool has_replica(const ProjectConfig& config);
DbSettings replica_settings(const ProjectConfig& config);
/// The lock that batch_stats holds while it runs.
inline constexpr const char* kStatsLock = "batch_stats";
std::optional<FileLock> try_stats_lock(const std::filesystem::path& project);

}  // namespace sluice
