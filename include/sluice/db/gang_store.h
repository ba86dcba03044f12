// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Gangs: jobs of a batch that run at the same time and exchange data (docs/gangs.md). `sluice_gang` has a row a gang,
// `sluice_gang_job` one a member.
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/db/plan_store.h"
#include "sluice/model/codes.h"
#include "sluice/model/gang.h"
#include "sluice/model/platform_set.h"

namespace sluice {

/// A job that is a member of a gang.
struct GangJob {
    GangId gang;
    int member = 0;  ///< 0 … size - 1
    std::string workunit_name;
};

struct GangFacts {
    int size = 0;
    bool ended = false;     ///< all members were done at the same time
    bool given_up = false;  ///< it will never end
};

/// A host that is to come for a member of a gang: a row of `sluice_gang_lease`, one a host.
struct GangLease {
    Id host = 0;
    GangId gang;
    std::int64_t start = 0;  ///< UNIX s at which it is to come; kept in sluice_host_rpc.gang_start, too
    std::int64_t since = 0;  ///< a request from then on knows of it, and of `workunit`
    int lapses = 0;          ///< how often it did not come though it knew
    Id workunit = 0;         ///< the member that it is given; 0: none yet
    double heard = 0;        ///< its last request (host.rpc_time)
    double p_fpops = 0;      ///< its host's
    bool has_it = false;     ///< its instance of `workunit` has been sent
    bool blamed = false;     ///< when the lease ends: for not coming, or for coming in vain
    bool unfit = false;      ///< when the lease ends: the scheduler did not send it what it was given
    friend bool operator==(const GangLease&, const GangLease&) = default;
};

/// A host that may get a lease.
struct GangHost {
    Id id = 0;
    double heard = 0;  ///< UNIX s
    double on_frac = 0, active_frac = 0, p_fpops = 0;
    int kept = 0, lapsed = 0;  ///< leases that ended well, or were dropped for not coming (`sluice_gang_host`)
    std::int64_t platforms = kAnyPlatform;  ///< what it can run: StoredHost::platforms
    /// The least number of valid results, of all app versions in use it failed with, since it did; kNeverFailed: none.
    int good_run = kNeverFailed;
    static constexpr int kNeverFailed = std::numeric_limits<int>::max();
    std::int64_t on_since = 0;  ///< UNIX s; 0: not known
};

/// A member of a gang of a batch in progress. Of a gang that has ended only those that have no result that counts yet.
struct GangMemberRow {
    GangId gang;
    int size = 0;
    Id workunit = 0;
    std::int64_t platforms = 0;  ///< for which its app has a version, as a set of platform_bit()
    double fpops = 0;
    bool failed = false;  ///< its workunit has an error
    bool busy = false;    ///< it has an instance that runs or was successful
    bool ended = false;   ///< its gang
    bool cut = false;     ///< its workunit's XML is not whole: no reply can carry it
};

/// An instance of a member that a host has or had.
struct GangInstance {
    Id workunit = 0, host = 0;
    bool in_progress = false;
    Id result = 0;
    double heard = 0;    ///< its host's last request
    double p_fpops = 0;  ///< its host's
};

/// An instance of a member, whatever has become of it.
struct GangMemberInstance {
    int member = 0;
    std::string name;
    OpenPlanResult result;
};

/// What gangs have to do with a host.
struct GangHostStanding {
    bool gangs = false;  ///< some wait or run
    std::optional<GangLease> lease{};
};

/// The gangs of a batch.
struct GangsOfBatch {
    int size = 0;  ///< of each
    std::int64_t gangs = 0, ended = 0, given_up = 0;
    std::vector<GangWait> waits{};  ///< of which members wait for hosts, in order
    /// Open workunits of gangs that go on whose XML is not whole, in order: no reply can carry them.
    std::vector<Id> cut{};
};

class GangStore {
  public:
    virtual ~GangStore() = default;
    /// Makes the tables of our own if they are missing.
    virtual void prepare() = 0;
    /// Of the gangs of this batch; nullopt: it has none.
    virtual std::optional<int> size_in(Id batch) = 0;
    /// Whole gangs of `size` members each, in order. May be repeated.
    virtual void define(std::span<const GangJob> jobs, int size) = 0;
    /// nullopt: there is no such gang.
    virtual std::optional<GangFacts> find(const GangId& gang) = 0;
    virtual std::vector<GangMemberInstance> instances(const GangId& gang, std::span<const int> members) = 0;
    /// For a person who asks why a host or a job waits. Without the tables there is nothing.
    virtual GangHostStanding standing_of(Id host) = 0;
    virtual std::optional<GangId> gang_of(const std::string& workunit_name) = 0;
    /// nullopt: it has none. Without the tables nothing waits.
    virtual std::optional<GangsOfBatch> of_batch(Id batch) = 0;
    /// Of all batches those that wait, by the time since when hosts are missing; so many at most.
    virtual std::vector<GangWait> waiting(int most) = 0;
    /// The gang has ended; it stays so.
    virtual void end(const GangId& gang, std::int64_t now) = 0;
    /// All gangs of a batch that was retired. Without the tables there are none.
    virtual void remove(Id batch) = 0;
};

std::unique_ptr<GangStore> make_gang_store(Database& db);

/// What gang_planner reads and writes.
class GangLeaseStore {
  public:
    virtual ~GangLeaseStore() = default;
    /// Makes the tables of our own if they are missing, those of GangStore, too. Who only reads needs none of them.
    virtual void prepare() = 0;
    /// Of the leases: another number each time they were written.
    virtual std::int64_t version() = 0;
    /// By the logical end times of their batches, then by gang and member; so many rows at most, the last gang whole or
    /// not at all.
    virtual std::vector<GangMemberRow> open_members(int most) = 0;
    virtual std::vector<GangInstance> instances_of(std::span<const Id> workunits) = 0;
    virtual std::vector<GangLease> leases() = 0;
    /// Without a lease, with recent credit or new, that were heard of since then, the last ones first. `quota`:
    /// <daily_result_quota>, below which a host is that has failed lately; 0: there is none.
    virtual std::vector<GangHost> free_hosts(std::int64_t heard_since, int quota, int most) = 0;
    /// Both lists at once or not at all: leases as they are to be, and those that end. False: somebody has written
    /// leases since they had `version`, nothing was changed.
    virtual bool write_leases(std::span<const GangLease> keep, std::span<const GangLease> end,
                              std::int64_t version) = 0;
    /// Two statements at most. A gang of which nothing waits any more has 0 members, and is forgotten.
    virtual void note_waits(std::span<const GangWait> changed) = 0;
    virtual std::vector<GangWait> waits() = 0;
    /// These of its workunits that are open are cancelled, and the gang, if it has not ended, will not any more.
    virtual void give_up(const GangId& gang, std::span<const Id> workunits, std::int64_t now) = 0;
};
std::unique_ptr<GangLeaseStore> make_gang_lease_store(Database& db);

}  // namespace sluice
