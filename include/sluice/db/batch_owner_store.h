// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Batches as their owners see and change them (sluice_batch).
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/db/batch_store.h"

namespace sluice {

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
    Id user_id = 0;    ///< 0: of all users
    bool all = false;  ///< retired ones, too
    int limit = 1000;  ///< the newest
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
