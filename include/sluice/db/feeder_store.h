// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the feeder asks of the database: which results are unsent, and everything about the few that it is about to
// put into the job array. Upstream: DB_WORK_ITEM's enumerations.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/id_share.h"
#include "sluice/model/job.h"
#include "sluice/model/job_summary.h"

namespace sluice {

/// One of n equal parts of all results, for feeders that share the work. Neighbouring ids, and ids that a cluster's
/// node gives in steps, are spread evenly.
struct FeederPart {
    int n = 1, i = 0;
    static constexpr std::int64_t kFactor = 40503, kDivisor = 65536;  ///< the golden ratio
    bool has(Id result) const { return n <= 1 || result * kFactor / kDivisor % n == i; }
    friend bool operator==(const FeederPart&, const FeederPart&) = default;
};

/// Which unsent results a feeder is about. All conditions that are set apply together.
struct UnsentFilter {
    std::vector<Id> appids;         ///< empty: all
    IdShare share, workunit_share;  ///< of the results' ids, and of their workunits'
    FeederPart part;
    std::int64_t others_before = 0;  ///< results that were made before this time are of every part
    bool with_hr_class = false;      ///< fills UnsentRow::hr_class (costs a join)
};

enum class WalkOrder {
    kPriorityDown,  ///< highest priority first, then by id
    kPriorityUp,    ///< lowest priority first, then by id
    kById           ///< by id; for a filter with exactly one app (its index has no priority)
};

/// Where a walk stands: the last row that was read.
struct WalkPosition {
    bool begun = false;
    std::int64_t priority = 0;
    Id id = 0;
};

/// What it takes to put unsent results into an order.
struct UnsentRow {
    Id id = 0, workunit_id = 0, app_id = 0, batch = 0;
    std::int64_t priority = 0, random = 0;
    int hr_class = 0;
};

/// What may change while a job lies in the array.
struct JobState {
    Id result_id = 0;
    ServerState server_state = ServerState::kUnsent;
    std::int64_t priority = 0, wu_priority = 0;
    int hr_class = 0, error_mask = 0, size_class = -1;
    Id app_version_id = 0, canonical_resultid = 0;
    TransitionerFlags transitioner_flags = TransitionerFlags::kNormal;
};

/// A row of user_submit (feeder --user).
struct Submitter {
    Id user_id = 0;
    double quota = 0;
};

inline constexpr int kHostsLookedAt = 1000;
inline constexpr double kHostsPatience = 0.25;  ///< s

/// Of the kHostsLookedAt hosts with the most recent credit those that were heard of since some time, and how many of
/// them have room for a job.
struct HostFit {
    std::int64_t hosts = 0, enough_memory = 0, enough_disk = 0, both = 0;
};

class FeederStore {
  public:
    virtual ~FeederStore() = default;

    /// At most `limit` unsent results behind `from`, in the order of the walk. Fewer than `limit`: the walk is over.
    virtual std::vector<UnsentRow> unsent_page(const UnsentFilter& filter, WalkOrder order, const WalkPosition& from,
                                               int limit) = 0;
    /// In any order; results that do not exist, or whose workunit does not, are missing.
    virtual std::vector<UnsentJob> load(std::span<const Id> results) = 0;
    virtual std::vector<JobState> look_at(std::span<const Id> results) = 0;
    /// Unsent results become OVER / DIDNT_NEED (their workunit has an error or is done already), and their workunits
    /// due for the transitioner. Returns how many.
    virtual std::int64_t mark_didnt_need(std::span<const Id> results, std::int64_t now) = 0;
    /// Frees workunits of their HR class and makes them due for the transitioner. `extra_instance`: target_nresults
    /// goes up by one whatever became of the class (upstream); otherwise only workunits of which no instance is in
    /// progress or was successful are freed. Returns how many.
    virtual std::int64_t release_hr_class(std::span<const Id> workunits, std::int64_t now, bool extra_instance) = 0;
    /// Those of `users` that exist and have a row in user_submit.
    virtual std::vector<Submitter> submitters(std::span<const Id> users) = 0;
    /// (batch, user) of those batches that exist.
    virtual std::vector<std::pair<Id, Id>> batch_owners(std::span<const Id> batches) = 0;
    /// nullopt: not known within kHostsPatience seconds. Jobs that are taken wait that long at most for their places to
    /// be filled again.
    virtual std::optional<HostFit> hosts_that_fit(double memory, double disk, std::int64_t heard_since) = 0;
};

/// `db` outlives the store.
std::unique_ptr<FeederStore> make_feeder_store(Database& db);

// Feeders of several machines tell each other that they are there: a row each in `sluice_feeder`, a table of our own,
// that changes as long as its feeder lives.

struct FeederLease {
    std::string name;       ///< of machine and project folder
    std::int64_t beat = 0;  ///< changes each time it is renewed
};

class FeederLeaseStore {
  public:
    virtual ~FeederLeaseStore() = default;
    /// Renews the lease of `name`, in one statement, and returns those of all feeders of that `kind` (which look for
    /// the same jobs), by name. Makes the table if it is not there. Throws DbError.
    virtual std::vector<FeederLease> renew(const std::string& name, const std::string& kind) = 0;
    /// Takes a lease away, unless it was renewed since.
    virtual void drop(const FeederLease& lease) = 0;
    /// Takes one's own away.
    virtual void give_back(const std::string& name) = 0;
};

/// `db` outlives the store.
std::unique_ptr<FeederLeaseStore> make_feeder_lease_store(Database& db);

}  // namespace sluice
