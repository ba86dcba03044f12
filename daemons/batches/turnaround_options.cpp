// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/turnaround_options.h"

#include <tuple>

#include "config/db_settings.h"
#include "sluice/base/project.h"

namespace sluice {

void StatsOptions::define(CommandLine& line) {
    line.option("--max_age_days", max_age_days_,
                "batches created in the last X days are measured; default 30, at level 1: 90");
    line.option("--min_success", min_success_,
                "successful results that a batch needs for a median; default 100, at level 1: 10");
    line.option("--min_success_frac", min_success_frac_,
                "part of its jobs that must be successful; default 0, at level 1: 0.5");
    line.option("--fail_ratio", fail_ratio_, "turnaround ratio of a job that was not successful; default 10");
    line.option("--ltt_below", ltt_below_, "a host whose mean turnaround ratio is lower is LTT; default 1");
    line.option("--min_jobs", min_jobs_, "jobs of a host that a verdict needs; default 1, at level 1: 3");
    line.option("--half_life_days", half_life_days_,
                "days after which a job counts half, 0: never; default 0, at level 1: 30");
    line.option("--count_errors", count_errors_,
                "1: every unsuccessful job counts, 0: only those that timed out; default the level", "0|1");
    line.option("--count_in_progress", count_in_progress_,
                "1: a job that runs longer than the median counts as that long; default the level", "0|1");
    line.option("--min_hosts", min_hosts_, "an accelerable app has more hosts than this; default 100");
    line.option("--min_ltt_frac", min_ltt_frac_, "more than this part of them is LTT; default 0.25");
}

std::string StatsOptions::check() const {
    if (max_age_days_ == 0) return "--max_age_days must be above 0";
    for (const auto& number :
         {max_age_days_, min_success_frac_, fail_ratio_, ltt_below_, half_life_days_, min_ltt_frac_})
        if (number.value_or(0) < 0) return "thresholds can't be negative";
    for (const auto& number : {min_success_, min_jobs_, min_hosts_, count_errors_, count_in_progress_})
        if (number.value_or(0) < 0) return "thresholds can't be negative";
    for (const auto& fraction : {min_success_frac_, min_ltt_frac_})
        if (fraction.value_or(0) > 1) return "--min_success_frac and --min_ltt_frac are parts of 1";
    if (count_errors_.value_or(0) > 1 || count_in_progress_.value_or(0) > 1)
        return "--count_errors and --count_in_progress are 0 or 1";
    return "";
}

StatsRules StatsOptions::rules(int compat_level) const {
    StatsRules r = stats_rules(compat_level);
    const auto take = [](auto& target, const auto& given, int unit = 1) {
        if (given) target = static_cast<std::remove_reference_t<decltype(target)>>(*given * unit);
    };
    take(r.max_age, max_age_days_, 86400);
    take(r.min_success, min_success_);
    take(r.min_success_frac, min_success_frac_);
    take(r.fail_ratio, fail_ratio_);
    take(r.ltt_below, ltt_below_);
    take(r.min_jobs, min_jobs_);
    take(r.half_life, half_life_days_, 86400);
    take(r.min_hosts, min_hosts_);
    take(r.min_ltt_frac, min_ltt_frac_);
    take(r.count_errors, count_errors_);
    take(r.count_in_progress, count_in_progress_);
    return r;
}

StatsSettings stats_settings(const ProjectConfig& config, const StatsRules& rules) {
    StatsSettings s;
    s.state_file = stats_state_file(config.project_dir);
    s.database = config.db_host + "/" + config.db_name + "/" + config.replica_db_host + "/" + config.replica_db_name;
    s.rules = rules;
    return s;
}

bool has_replica(const ProjectConfig& c) {
    return std::tie(c.replica_db_host, c.replica_db_name) != std::tie(c.db_host, c.db_name);
}

DbSettings replica_settings(const ProjectConfig& config) {
    DbSettings s = replica_db_settings(config);
    s.read_uncommitted = false;
    return s;
}

std::optional<FileLock> try_stats_lock(const std::filesystem::path& project) {
    const auto folder = project / ("pid_" + short_host_name());
    std::filesystem::create_directories(folder);
    return FileLock::try_lock(folder / (std::string(kStatsLock) + ".run"));
}

}  // namespace sluice
