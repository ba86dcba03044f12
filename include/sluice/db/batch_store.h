// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which app versions a host returns quickly: `sluice_host_ltt`, a table of our own beside host.error_rate (seed 004:
// the one flag of a host "won't work as intended where a host succeeds with CPU versions but fails with GPU versions").
// batch_stats keeps it at compat_level 1; the table does not exist before.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/batch.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/job.h"

namespace sluice {

struct VersionTurnaround {
    Id host_id = 0;
    Id version = 0;    ///< generalized_version_id()
    bool ltt = false;  ///< low turnaround time
    double ratio = 0;  ///< mean of turnaround / median of the batch
    int jobs = 0;      ///< that it rests on
};

class HostLttStore {
  public:
    virtual ~HostLttStore() = default;
    /// What is known of one host; empty if nothing is, or if batch_stats never ran at level 1. One statement.
    virtual std::vector<VersionTurnaround> of_host(Id host) = 0;
    /// Every row, by host and version.
    virtual void all(const std::function<void(const VersionTurnaround&)>& row) = 0;
    /// Makes the table if it is missing; rows are inserted or replaced, then those of `gone` (host, version) deleted.
    virtual void write(std::span<const VersionTurnaround> rows, std::span<const std::pair<Id, Id>> gone) = 0;
};
std::unique_ptr<HostLttStore> make_host_ltt_store(Database& db);

// Batches as batch_upkeep, batch_stats and batch_accel read and write them.

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

// Batches as their owners see and change them (sluice_batch).

/// A row of `batch` with the names that people know.
struct OwnedBatch {
    Batch row;
    std::string description, app_name, user_name;  ///< names: empty if there is no such app or user any more
};

/// What the instances of a batch cost. Times are of processors: cpu_time, or elapsed_time where that is longer.
struct BatchCost {
    std::int64_t instances = 0, workunits = 0;  ///< sent instances, and the workunits that they belong to
    double seconds = 0;                         ///< of all instances that have ended
    /// Of those that ended without a valid result, and of valid ones beyond the quorum (of n where q were needed: the
    /// part (n-q)/n).
    double wasted_seconds = 0;
    std::int64_t copies = 0;           ///< that batch_planner --copies made
    double copies_wasted_seconds = 0;  ///< of jobs with a copy: valid ones beyond the quorum, and what came too late
};

/// Where the instances of a batch are.
struct BatchInstances {
    std::int64_t unsent = 0, in_progress = 0;
    std::int64_t hosts = 0;          ///< that were sent one
    std::int64_t hosts_at_work = 0;  ///< that have one now
};

struct HostsHeardOf {
    std::int64_t count = 0;
    std::vector<Id> newest;  ///< the last ones first
};

struct BatchFilter {
    Id user_id = 0;            ///< 0: of all users
    bool all = false;          ///< retired ones, too
    int limit = 1000;          ///< the newest; of those in progress the oldest
    bool in_progress = false;  ///< those alone
};

class BatchOwnerStore {
  public:
    virtual ~BatchOwnerStore() = default;
    /// Sets the new batch's id. Row values that are not given are 0.
    virtual void create(OwnedBatch& batch) = 0;
    virtual std::optional<OwnedBatch> batch(Id id) = 0;
    /// By id.
    virtual std::vector<OwnedBatch> list(const BatchFilter& filter) = 0;
    virtual std::optional<std::string> user_name(Id id) = 0;
    virtual BatchCost cost(Id batch) = 0;
    virtual BatchInstances instances(Id batch) = 0;
    /// Hosts that made a request since then.
    virtual HostsHeardOf hosts_since(std::int64_t since, int most) = 0;
    /// Within a transaction or in one of its own: from one of `from` to `to`, with completion_time = `now` if that is
    /// ABORTED and njobs counted anew if it is IN_PROGRESS; the state that the batch has afterwards, nullopt: there is
    /// no such batch.
    virtual std::optional<BatchState> change_state(Id batch, const std::vector<BatchState>& from, BatchState to,
                                                   std::int64_t now) = 0;
    /// Cancels those of the next `limit` workunits of the batch (ids above `after`) that have no canonical result, as
    /// upstream's cancel_jobs does: unsent and inactive results are over and not needed, error_mask gets bit 16, the
    /// transitioner looks at them `now`. The id of the last one; nullopt: there are no more.
    virtual std::optional<Id> cancel_jobs(Id batch, Id after, int limit, std::int64_t now) = 0;
    /// Every app, deprecated ones, too.
    virtual std::vector<App> apps() = 0;
    /// Of the batch's workunits of these apps those that are over count as assimilated, and the transitioner looks at
    /// them `now`: it releases their files as soon as nothing runs and nothing is to be validated.
    enum class OverBy { kCancelling, kAnything };  ///< kAnything: a canonical result or any error
    virtual void count_as_assimilated(Id batch, std::span<const Id> apps, OverBy by, std::int64_t now) = 0;
};
std::unique_ptr<BatchOwnerStore> make_batch_owner_store(Database& db);

}  // namespace sluice
