// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Batches as batch_upkeep, batch_stats and batch_accel read and write them.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/records.h"

namespace sluice {

// ---- progress ------------------------------------------------------------------------------------------------------

/// What the workunits of a batch add up to.
struct BatchProgress {
    Id batch = 0;
    int njobs = 0, success = 0, errors = 0;  ///< success: canonical result; errors: error_mask without one
    double credit_canonical = 0;
    int done() const { return success + errors; }
};

/// New values of a batch's row; written only if its state is still `was_state`.
struct BatchChange {
    Id id = 0;
    BatchState was_state = BatchState::kInProgress, state = BatchState::kInProgress;
    int njobs = 0, nerror_jobs = 0;
    double fraction_done = 0, completion_time = 0, credit_canonical = 0;
};

class BatchUpkeepStore {
  public:
    virtual ~BatchUpkeepStore() = default;
    /// Batches in state IN_PROGRESS, by id. Batches that were over long ago are not read again (a mark in a table of
    /// our own, `sluice_marks`, made when a project has had thousands of batches); `now` moves that mark.
    virtual std::vector<Batch> in_progress(std::int64_t now) = 0;
    virtual std::optional<Batch> batch(Id id) = 0;
    /// One for each id asked, in that order.
    virtual std::vector<BatchProgress> progress(std::span<const Id> batches) = 0;
    /// The number of rows that still had the expected state.
    virtual std::int64_t write(std::span<const BatchChange> changes) = 0;
};
std::unique_ptr<BatchUpkeepStore> make_batch_upkeep_store(Database& db);

// ---- turnaround ----------------------------------------------------------------------------------------------------

struct MeasuredBatch {
    Id id = 0, app_id = 0;
    int njobs = 0;
    double expire_time = 0;
};

/// What a result says of its host's turnaround.
struct ResultTimes {
    Id id = 0, workunitid = 0, batch = 0, hostid = 0;
    Id version = 0;  ///< generalized_version_id()
    ServerState server_state = ServerState::kUnsent;
    Outcome outcome = Outcome::kInit;
    ValidateState validate_state = ValidateState::kInit;
    int exit_status = 0;
    std::int64_t sent_time = 0, received_time = 0, report_deadline = 0;
};
/// Exactly one of the three.
struct ResultSelection {
    std::span<const Id> batches{};  ///< all of these batches, in the order of batch, id
    std::span<const Id> ids{};      ///< in the order of id
    Id after = -1;                  ///< results of batches with ids above this one, in order
};

struct StatsWrite {
    std::vector<std::pair<Id, double>> medians;    ///< batch.expire_time
    std::vector<std::pair<Id, bool>> hosts;        ///< host.error_rate: 1 or 0
    std::vector<std::pair<Id, bool>> accelerable;  ///< app.n_size_classes: 1 or 0, never if it is above 1
    bool empty() const { return medians.empty() && hosts.empty() && accelerable.empty(); }
};

class BatchStatsStore {
  public:
    virtual ~BatchStatsStore() = default;
    /// IN_PROGRESS or COMPLETE, created after that time, by id. Ids below `from` are known to be older.
    virtual std::vector<MeasuredBatch> batches(Id from, std::int64_t created_after) = 0;
    virtual void results(const ResultSelection& selection, const std::function<void(const ResultTimes&)>& row) = 0;
    /// Ids and states of the apps' results that are not over, from an index alone.
    virtual void open_results(std::span<const Id> apps, const std::function<void(Id, ServerState)>& row) = 0;
    virtual Id last_result_id() = 0;
    /// id, name, n_size_classes of every app.
    virtual std::vector<App> apps() = 0;
    /// Hosts with error_rate <> 0, and the value. Empty `among`: of all hosts (reads the whole table).
    virtual std::map<Id, double> flagged_hosts(std::span<const Id> among) = 0;
    /// All in one transaction.
    virtual void apply(const StatsWrite& write) = 0;
};
/// Results are read from `results_from` (a read replica, or `db` itself), all else from and to `db`.
std::unique_ptr<BatchStatsStore> make_batch_stats_store(Database& db, Database& results_from);

// ---- acceleration --------------------------------------------------------------------------------------------------

/// What a workunit was before it was accelerated; a row of `sluice_accel_job`, a table of our own.
struct AcceleratedJob {
    Id workunitid = 0, batch = 0;
    bool marked = false;        ///< its priority was raised to 1
    std::int64_t priority = 0;  ///< before
    int lent = 0;               ///< target_nresults is higher by this many than its submitter wanted
    int extra = 0;              ///< instances asked for in all
};
struct OpenInstance {
    Id id = 0;
    ServerState server_state = ServerState::kUnsent;
    Outcome outcome = Outcome::kInit;
    ValidateState validate_state = ValidateState::kInit;
    std::int64_t sent_time = 0, priority = 0;
};
/// A workunit that is not done, with its results and, if it is accelerated, what it was before.
struct OpenJob {
    Workunit wu;
    std::vector<OpenInstance> instances;
    std::optional<AcceleratedJob> before;
};

/// What becomes of the jobs of one page; see daemons/batches/acceleration_plan.h.
struct AccelWrite {
    Id batch = 0;
    std::int64_t now = 0;
    std::vector<Id> mark;                       ///< workunits: priority := 1, the old one is kept
    bool only_zero = true;                      ///< only those whose priority is 0, else all up to 0
    std::vector<Id> mark_results;               ///< likewise, UNSENT and INACTIVE ones
    std::vector<std::pair<Id, int>> more;       ///< workunit, target_nresults as read: one instance more
    std::vector<std::pair<Id, int>> give_back;  ///< workunit, lent as read: target_nresults back
    std::vector<Id> restore;                    ///< workunits: priorities and target as they were before
    std::vector<Id> lower;                      ///< workunits marked by others: priority 1 := 0
    bool empty() const {
        return mark.empty() && mark_results.empty() && more.empty() && give_back.empty() && restore.empty() &&
               lower.empty();
    }
};

class BatchAccelStore {
  public:
    virtual ~BatchAccelStore() = default;
    virtual std::vector<App> apps() = 0;
    /// Makes the tables of our own if they are missing.
    virtual void prepare() = 0;
    /// Extra instances asked for, by batch; also batches whose jobs are marked only (0).
    virtual std::map<Id, int> accelerated_batches() = 0;
    /// Workunits of the batch without canonical result and error, ids above `after`, at most `limit`.
    virtual std::vector<OpenJob> open_jobs(Id batch, Id after, int limit) = 0;
    /// Mean turnaround of the batch's successful results, s; nullopt: there are none.
    virtual std::optional<double> mean_turnaround(Id batch) = 0;
    /// In one transaction; finished jobs are left alone.
    virtual void apply(const AccelWrite& write) = 0;
    /// Forgets what is kept of batches that are over.
    virtual void forget(std::span<const Id> batches) = 0;
};
std::unique_ptr<BatchAccelStore> make_batch_accel_store(Database& db);

}  // namespace sluice
