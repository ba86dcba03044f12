#include "daemons/batch_accel/accel_run.h"

#include <algorithm>

#include "config/db_settings.h"
#include "daemons/batch_stats/stats_options.h"
#include "sluice/base/log.h"

namespace sluice {

AccelRun::AccelRun(const AccelOptions& options, const ProjectConfig& config, bool dry_run, Clock& clock)
    : options_(options),
      config_(config),
      db_(db_settings(config)),
      replica_(replica_settings(config)),
      accel_store_(make_batch_accel_store(db_)),
      upkeep_store_(make_batch_upkeep_store(db_)),
      clock_(clock) {
    settings_.rules = options.rules(config.compat_level);
    settings_.compat_level = config.compat_level;
    settings_.dry_run = dry_run;
}

void AccelRun::pass() {
    const auto old = last_statistics();
    if (!options_.explain && !settings_.dry_run && !options_.no_stats) run_statistics(old);
    if (const auto fresh = last_statistics()) settings_.verdicts = fresh->apps;
    AccelPass pass(settings_, *accel_store_, *upkeep_store_, clock_);
    options_.explain ? pass.explain(*options_.explain) : pass.run();
}

std::optional<StatsSummary> AccelRun::last_statistics() const {
    std::string why;
    const auto reader = StateReader::open(stats_state_file(config_.project_dir), why);
    const StatsSettings here = stats_settings(config_, {});
    if (!reader || reader->summary().database != here.database) return std::nullopt;
    return reader->summary();
}

void AccelRun::run_statistics(const std::optional<StatsSummary>& old) {
    if (old && clock_.now_sec() - old->made_at < options_.stats_age && clock_.now_sec() >= old->made_at) return;
    if (!old && flags_are_somebody_elses()) return;
    const auto lock = try_stats_lock(config_.project_dir);
    if (!lock) {
        log_normal("batch_stats is running: its last results are used");
        return;
    }
    // By the thresholds of the last batch_stats, so that two tasks with different ones do not fight.
    StatsSettings settings = stats_settings(config_, old ? old->rules : stats_rules(config_.compat_level));
    const auto store = make_batch_stats_store(db_, has_replica(config_) ? replica_ : db_);
    const auto versions = make_host_ltt_store(db_);
    StatsPass(settings, *store, *versions, clock_).run();
}

bool AccelRun::flags_are_somebody_elses() {
    const auto apps = accel_store_->apps();
    const auto marked = std::find_if(apps.begin(), apps.end(), [](const App& a) { return a.n_size_classes == 1; });
    if (marked == apps.end()) return false;
    log_normal(
        "app {} is marked accelerable, though batch_stats never ran here: somebody else keeps the flags, they are used "
        "as they are; run batch_stats once to take over",
        marked->name);
    return true;
}

}  // namespace sluice
