// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What create_work writes.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/job.h"

namespace sluice {

/// What a workunit gets beside its row.
struct JobRows {
    std::optional<Assignment> assignment;  ///< workunitid is filled in by the store
    std::string file_group;                ///< the file whose group (docs/locality.md) it is in; "": none
    /// Called within the transaction, when file_deleter can't delete the job's files any more: those of its group, or
    /// all if its row is overwritten. Throws if one is gone; nothing is written then. Empty: nobody asks.
    std::function<void()> check_files{};
};

/// What became of jobs that are submitted into a batch.
struct BatchChunk {
    BatchState state = BatchState::kInit;  ///< of the batch; unless it is INIT nothing was inserted
    std::size_t inserted = 0, present = 0;
    std::string missing;   ///< the first job that is not there, if the batch takes no more
    bool strange = false;  ///< fewer were there than expected, and nothing was inserted
    std::string taken;     ///< if not empty: this name is a workunit's of another batch, and nothing was inserted
};

/// The documents that a job has in the database.
enum class JobDocument { kWorkunit, kResult };

class WorkStore {
  public:
    virtual ~WorkStore() = default;
    virtual std::optional<App> app_by_name(const std::string& name) = 0;
    /// The geometric mean of rsc_fpops_est by size class, of the app's jobs among the newest workunits; classes without
    /// such jobs, and those that the app does not have, are absent.
    virtual std::map<int, double> typical_sizes(Id appid) = 0;
    /// Why the column of such a document can't hold so much XML; "": it can.
    virtual std::string xml_too_long(JobDocument document, std::size_t bytes) = 0;
    /// As the function of that name (pinned_versions.h).
    virtual std::string why_pinned_job_waits(Id appid, int version_num) = 0;
    /// nullopt: there is no such batch.
    virtual std::optional<BatchState> batch_state(Id batch) = 0;
    /// Inserts the workunits and (same index) what belongs to them: all or nothing. Sets the ids of the first and of
    /// the last one, and of those that have rows beside their own. Throws DbError(kDuplicate) if a name exists.
    virtual void insert(std::span<Workunit> workunits, std::span<const JobRows> rows) = 0;
    /// The same into a batch that is being submitted, in one transaction that holds the batch's row: those whose names
    /// are jobs of the batch already are left alone. If others are to be inserted, at least `expected` must be there.
    /// nullopt: there is no such batch. May be repeated.
    virtual std::optional<BatchChunk> insert_into_batch(Id batch, std::span<const Workunit> workunits,
                                                        std::span<const JobRows> rows, std::size_t expected) = 0;
    /// Jobs of the batch whose names begin with `prefix`.
    virtual std::size_t jobs_named(Id batch, const std::string& prefix) = 0;
    /// Overwrites the row `workunit.id`, and adds it to its file group; false if it does not exist. No assignment.
    virtual bool update(const Workunit& workunit, const JobRows& rows) = 0;
};

std::unique_ptr<WorkStore> make_work_store(Database& db);

// Jobs that are pinned to a version number (workunit.app_version_num) wait for ever where the feeder keeps no such
// version of the app.

/// An app and a version number to which a job of it is pinned.
using PinnedVersion = std::pair<Id, int>;

/// A line for each of those that the feeder does not keep, in their order: why not, and what helps. Two statements at
/// most, however many there are.
std::vector<std::string> why_pinned_jobs_wait(Database& db, const std::set<PinnedVersion>& pins);
/// The same of one. "": the feeder keeps a version of that number, or there is no such app.
std::string why_pinned_job_waits(Database& db, Id appid, int version_num);

// What cancel_jobs writes.

/// Which workunits are cancelled: those that fulfil all that is said here. With a batch, an app or a pattern those that
/// have a canonical result are not meant: late results of theirs would get no credit.
struct CancelFilter {
    std::optional<Id> first{}, last{};  ///< ids, both included
    std::optional<Id> batch{}, appid{};
    std::optional<std::string> name{};       ///< exactly
    std::optional<std::string> name_like{};  ///< with the wildcards % and _ of SQL's LIKE
};

struct Cancelled {
    std::int64_t workunits = 0;
    std::int64_t unsent = 0;       ///< results that no host gets any more
    std::int64_t in_progress = 0;  ///< results that their hosts are told to abort

    Cancelled& operator+=(const Cancelled& other) {
        workunits += other.workunits, unsent += other.unsent, in_progress += other.in_progress;
        return *this;
    }
};

class CancelStore {
  public:
    virtual ~CancelStore() = default;
    virtual std::optional<Id> app_id(const std::string& name) = 0;
    /// The next `limit` workunits above `after`, ascending.
    virtual std::vector<Id> page(const CancelFilter& filter, Id after, int limit) = 0;
    /// What cancel() would do to them.
    virtual Cancelled count(const std::vector<Id>& workunits) = 0;
    /// In one transaction: each gets the error bit of a cancelled workunit and is due at `now`, results that were not
    /// sent are over and not needed. May be repeated.
    virtual Cancelled cancel(const std::vector<Id>& workunits, std::int64_t now) = 0;
};

/// `db` outlives the store.
std::unique_ptr<CancelStore> make_cancel_store(Database& db);

// What wu_check reads and repairs.

/// A result that is not over, with the XML of its workunit.
struct OpenResult {
    Id id = 0;
    std::string xml_doc;
};

class JobCheckStore {
  public:
    virtual ~JobCheckStore() = default;
    /// The next `limit` results in that state above `after`, ascending.
    virtual std::vector<OpenResult> page(ServerState state, Id after, int limit) = 0;
    /// In one transaction: those that are still unsent are over and could not be sent; their workunits are due at
    /// `now`. How many there were. May be repeated.
    virtual std::int64_t end_unsent(const std::vector<Id>& results, std::int64_t now) = 0;
};

std::unique_ptr<JobCheckStore> make_job_check_store(Database& db);

// What make_work and sample_work_generator read.

class SupplyStore {
  public:
    virtual ~SupplyStore() = default;
    /// With all that a copy of it needs.
    virtual std::optional<Workunit> workunit_by_name(const std::string& name) = 0;
    /// Results of the app that no host has yet, counted up to `most`.
    virtual std::int64_t unsent_results(Id appid, std::int64_t most) = 0;
    /// Workunits of all apps, counted up to `most`.
    virtual std::int64_t workunits(std::int64_t most) = 0;
    /// The transitioner has not looked at it yet: it has no result, and no error.
    virtual bool is_new(Id workunit) = 0;
};

std::unique_ptr<SupplyStore> make_supply_store(Database& db);

}  // namespace sluice
