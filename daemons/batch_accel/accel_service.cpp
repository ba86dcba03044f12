// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch_accel/accel_service.h"

#include <algorithm>

#include "daemons/batch_stats/stats_options.h"
#include "sluice/base/log.h"

namespace sluice {

AccelService::AccelService(const AccelOptions& options, const ProjectConfig& config, const AccelStores& stores,
                           Clock& clock)
    : Service(options.every), options_(options), config_(config), stores_(stores), clock_(clock) {
    settings_.rules = options.rules(config.compat_level);
    settings_.compat_level = config.compat_level;
    settings_.dry_run = options.dry_run;
}

Turn AccelService::turn() {
    const auto old = last_statistics();
    if (!options_.explain && !settings_.dry_run && !options_.no_stats) run_statistics(old);
    if (const auto fresh = last_statistics()) settings_.verdicts = fresh->apps;
    AccelPass pass(settings_, stores_.accel, stores_.upkeep, clock_);
    options_.explain ? pass.explain(*options_.explain) : pass.run();
    return idle();
}

std::optional<StatsSummary> AccelService::last_statistics() const {
    std::string why;
    const auto reader = StateReader::open(stats_state_file(config_.project_dir), why);
    const StatsSettings here = stats_settings(config_, {});
    if (!reader || reader->summary().database != here.database) return std::nullopt;
    return reader->summary();
}

void AccelService::run_statistics(const std::optional<StatsSummary>& old) {
    if (old && clock_.now_sec() - old->made_at < options_.stats_age && clock_.now_sec() >= old->made_at) return;
    if (!old && flags_are_somebody_elses()) return;
    const auto lock = try_stats_lock(config_.project_dir);
    if (!lock) {
        log_normal("batch_stats is running: its last results are used");
        return;
    }
    // By the thresholds of the last batch_stats, so that two tasks with different ones do not fight.
    StatsSettings settings = stats_settings(config_, old ? old->rules : stats_rules(config_.compat_level));
    StatsPass(settings, stores_.stats, stores_.versions, clock_).run();
}

bool AccelService::flags_are_somebody_elses() {
    const auto apps = stores_.accel.apps();
    const auto marked = std::find_if(apps.begin(), apps.end(), [](const App& a) { return a.n_size_classes == 1; });
    if (marked == apps.end()) return false;
    log_normal(
        "app {} is marked accelerable, though batch_stats never ran here: somebody else keeps the flags, they are used "
        "as they are; run batch_stats once to take over",
        marked->name);
    return true;
}

}  // namespace sluice
