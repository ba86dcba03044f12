#pragma once
// Thresholds of batch_stats on a command line; what is not given is what compat_level says.
#include <filesystem>
#include <limits>
#include <optional>

#include "config/project_config.h"
#include "daemons/batch_stats/stats_pass.h"
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
    static constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();
    static constexpr int kNone = std::numeric_limits<int>::min();
    double max_age_days_ = kNotGiven, min_success_frac_ = kNotGiven, fail_ratio_ = kNotGiven, ltt_below_ = kNotGiven,
           half_life_days_ = kNotGiven, min_ltt_frac_ = kNotGiven;
    int min_success_ = kNone, min_jobs_ = kNone, min_hosts_ = kNone, count_errors_ = kNone, count_in_progress_ = kNone;
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
