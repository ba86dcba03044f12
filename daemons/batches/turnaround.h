// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// One run of batch_stats, for its own program and for batch_accel, which runs it first.
#include <filesystem>
#include <functional>
#include <map>
#include <vector>

#include "daemons/batches/turnaround_scores.h"
#include "daemons/batches/turnaround_state.h"
#include "sluice/base/clock.h"
#include "sluice/daemon/service.h"
#include "sluice/model/catalogue.h"

namespace sluice {

/// batch.expire_time values from here on are the dates that the web site stores there, not medians.
inline constexpr double kExpireDate = 1e9;

/// What decides which flags and medians have to be written.
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

/// The observations of every batch that is measured. Either all are read from the database, or those of the last pass
/// are updated with what can have changed since.
class Collector {
  public:
    using Sink = std::function<void(const BatchSection&)>;
    /// `batches` by id.
    Collector(BatchStatsStore& store, const std::vector<MeasuredBatch>& batches);

    /// Every batch, by id. `sink` must not use the database.
    void everything(const Sink& sink);
    /// The same from `old`. False, and nothing handed out: the database is not the one that `old` is of.
    bool brought_up_to_date(StateReader& old, std::int64_t now, const Sink& sink);

    Id last_result() const { return last_result_; }
    std::size_t rows_read() const { return rows_read_; }

  private:
    struct Known;
    void find_changes(StateReader& old, std::int64_t now, Known& known);
    bool read_changes(Known& known, Id last_seen);
    void whole_batches(const std::vector<Id>& batches, const Sink& sink);
    void note(const ResultTimes& r);
    bool wanted(Id batch) const { return batches_.contains(batch); }

    BatchStatsStore& store_;
    std::map<Id, const MeasuredBatch*> batches_;
    std::map<Id, std::vector<Observation>> changes_;  ///< by batch
    std::vector<Id> looked_at_;                       ///< results that were read again, sorted
    Id last_result_ = 0;
    std::size_t rows_read_ = 0;
};

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

class StatsService final : public Service {
  public:
    StatsService(const StatsSettings& settings, BatchStatsStore& store, HostLttStore& versions, Clock& clock)
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
