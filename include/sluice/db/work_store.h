// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What create_work writes.
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "sluice/db/database.h"
#include "sluice/model/records.h"

namespace sluice {

/// What a workunit gets beside its row.
struct JobRows {
    std::optional<Assignment> assignment;  ///< workunitid is filled in by the store
    std::string file_group;                ///< the file whose group (docs/locality.md) it is in; "": none
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
    /// Inserts the workunits and (same index) what belongs to them: all or nothing. Sets their ids. Throws
    /// DbError(kDuplicate) if a name exists.
    virtual void insert(std::span<Workunit> workunits, std::span<const JobRows> rows) = 0;
    /// The same into a batch that is being submitted, in one transaction that holds the batch's row: those whose names
    /// are jobs of the batch already are left alone. If others are to be inserted, at least `expected` must be there.
    /// nullopt: there is no such batch. May be repeated.
    virtual std::optional<BatchChunk> insert_into_batch(Id batch, std::span<const Workunit> workunits,
                                                        std::span<const JobRows> rows, std::size_t expected) = 0;
    /// Jobs of the batch whose names begin with `prefix`.
    virtual std::size_t jobs_named(Id batch, const std::string& prefix) = 0;
    /// Overwrites the row `workunit.id`; false if it does not exist.
    virtual bool update(const Workunit& workunit) = 0;
};

std::unique_ptr<WorkStore> make_work_store(Database& db);

}  // namespace sluice
