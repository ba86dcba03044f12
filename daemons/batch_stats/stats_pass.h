// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// One run of batch_stats, for its own program and for batch_accel, which runs it first.
#include <filesystem>

#include "daemons/batch_stats/collect.h"
#include "daemons/batch_stats/plan.h"
#include "sluice/base/clock.h"
#include "sluice/daemon/service.h"

namespace sluice {

struct StatsSettings {
    std::filesystem::path state_file;
    std::string database;  ///< names the database, so that the state of another one is not taken for its
    StatsRules rules;
    bool full = false;     ///< read everything, whatever is known
    bool dry_run = false;  ///< print the plan, write nothing
    /// A full pass that took less than so many seconds is repeated: it sees changes made by hand, too. Else it is
    /// repeated once a day.
    double cheap_full = 1;
    double every = 3600;  ///< s between two runs, if it is no task
};

class StatsPass final : public Service {
  public:
    StatsPass(const StatsSettings& settings, BatchStatsStore& store, HostLttStore& versions, Clock& clock)
        : Service(settings.every), settings_(settings), store_(store), versions_(versions), clock_(clock) {}
    Turn turn() override { return run(), idle(); }
    /// False if a stop was asked for: nothing was written.
    bool run();

  private:
    struct Work;
    void collect(Work& work, bool build_on_old);
    void write(Work& work);
    bool may_build_on(const StatsSummary& old, std::int64_t now) const;
    void print_plan(const Work& work, const StatsWrite& plan, const VersionChanges& versions) const;
    void report(const Work& work, const StatsWrite& plan, const VersionChanges& versions) const;

    const StatsSettings& settings_;
    BatchStatsStore& store_;
    HostLttStore& versions_;
    Clock& clock_;
};

}  // namespace sluice
