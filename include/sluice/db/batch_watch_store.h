// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What happens to batches that their owners are to hear of: `sluice_batch_event`, a table of our own. batch_watch fills
// it and tells what is in it; sluice_batch and the status page show it.
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/batch.h"

namespace sluice {

enum class BatchEventKind { kSlow, kLate, kStopped, kDone };
/// "slow", "late", "stopped", "done".
const char* event_name(BatchEventKind kind);

/// One of a kind for each batch.
struct BatchEvent {
    Id batch = 0;
    BatchEventKind kind = BatchEventKind::kDone;
    std::int64_t at = 0;  ///< UNIX s
    std::string says;     ///< a sentence without names: ASCII, 500 characters at most
};

/// A batch that was seen in progress and whose end is not noted yet.
struct WatchedBatch {
    Batch row;                    ///< id, state, jobs, parts done and failed, est_completion_time
    bool gone = false;            ///< it has no row any more
    double promised = 0;          ///< UNIX s by which its first ETA said that it is done; 0: it has had none
    bool begun_well = false;      ///< it is not to be stopped any more
    std::set<std::string> noted;  ///< names of its events
    bool has(BatchEventKind kind) const { return noted.contains(event_name(kind)); }
};

/// What came back of a batch, among its first kMostLookedAt instances.
struct BatchOutcomes {
    std::int64_t good = 0;  ///< successes that no validator called invalid
    std::int64_t failed =
        0;  ///< client errors but for aborts by volunteers and the project, validate errors, invalid ones
    std::int64_t failing_hosts = 0;
    std::int64_t timed = 0;             ///< of which run time and estimate are known
    std::int64_t slow = 0;              ///< those that took at least kSlowFactor times their estimate
    double slow_by = 0;                 ///< how many times they took it, their mean
    int exit_status = 0;                ///< the most frequent one of those that failed on clients …
    std::int64_t with_exit_status = 0;  ///< … and how many ended with it

    static constexpr int kMostLookedAt = 10'000;
    static constexpr double kSlowFactor = 10;
};

class BatchWatchStore {
  public:
    virtual ~BatchWatchStore() = default;
    /// Makes the table if it is missing. Not within a transaction.
    virtual void prepare() = 0;
    /// Batches in progress, and those that became complete in the last day, but since the first call that wrote, of
    /// which nothing is noted yet. With `write` they are watched from now on.
    virtual std::vector<WatchedBatch> begin(std::int64_t now, bool write) = 0;
    /// By id; none without the table.
    virtual std::vector<WatchedBatch> watched() = 0;
    virtual BatchOutcomes outcomes(Id batch) = 0;
    /// Stores `promised` and `begun_well`.
    virtual void update(const WatchedBatch& batch) = 0;
    /// What was noted before stays. `tell`: somebody is to be told.
    virtual void note(const BatchEvent& event, bool tell) = 0;
    /// The batch is over and is not watched any more; `last` is noted. In one transaction. A note of kStopped that is
    /// not `last` is taken back.
    virtual void end(Id batch, const std::optional<BatchEvent>& last, bool tell) = 0;
};
std::unique_ptr<BatchWatchStore> make_batch_watch_store(Database& db);

/// An event that is to be told, with what people know the batch by.
struct EventToTell {
    BatchEvent event;
    bool told_command = false, told_mail = false;
    int tries = 0;  ///< that failed
    std::string batch_name, app_name, owner_name, owner_address;
    Id owner = 0;
    int jobs = 0, failed = 0;
};

/// What waits to be told.
struct EventsToTell {
    std::int64_t n = 0;
    std::int64_t oldest = 0;  ///< UNIX s of the first event; 0: there is none
    int most_tries = 0;       ///< so often did telling one of them fail
};

class BatchEventStore {
  public:
    virtual ~BatchEventStore() = default;
    /// Of these batches, in their order of time; none without the table.
    virtual std::vector<BatchEvent> of(std::span<const Id> batches) = 0;
    /// Those of a kind since then, the newest `most`.
    virtual std::vector<BatchEvent> since(BatchEventKind kind, std::int64_t time, int most) = 0;
    virtual EventsToTell to_tell() = 0;
    /// What is due to be told, the longest due first.
    virtual std::vector<EventToTell> due(std::int64_t now, int most) = 0;
    /// Stores told_command, told_mail and tries; it is due `again` then, UNIX s; 0: all is told.
    virtual void settle(const EventToTell& event, std::int64_t again) = 0;
};
std::unique_ptr<BatchEventStore> make_batch_event_store(Database& db);

}  // namespace sluice
