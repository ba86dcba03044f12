#pragma once
// Gangs: jobs of a batch that run at the same time and exchange data (docs/gangs.md). `sluice_gang` has a row a gang,
// `sluice_gang_job` one a member.
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "sluice/db/database.h"
#include "sluice/model/codes.h"

namespace sluice {

/// "12.0": the first gang of batch 12.
struct GangId {
    Id batch = 0;
    std::int64_t number = 0;
    friend auto operator<=>(const GangId&, const GangId&) = default;
};

/// A job that is a member of a gang.
struct GangJob {
    GangId gang;
    int member = 0;  ///< 0 … size - 1
    std::string workunit_name;
};

struct GangFacts {
    int size = 0;
    bool ended = false;  ///< all members were done at the same time
};

/// A host that is to come for a member of a gang: a row of `sluice_gang_lease`, one a host.
struct GangLease {
    Id host = 0;
    GangId gang;
    std::int64_t start = 0;  ///< UNIX s at which it is to come; kept in sluice_host_rpc.gang_start, too
    std::int64_t since = 0;  ///< it was made
    int lapses = 0;          ///< how often it did not come though it knew
    Id workunit = 0;         ///< the member that it is given; 0: none yet
    double heard = 0;        ///< its last request (host.rpc_time)
    bool has_it = false;     ///< its instance of `workunit` has been sent
    bool blamed = false;     ///< when the lease ends: for not coming
    friend bool operator==(const GangLease&, const GangLease&) = default;
};

/// A host that may get a lease.
struct GangHost {
    Id id = 0;
    double heard = 0;  ///< UNIX s
    double on_frac = 0, active_frac = 0, p_fpops = 0;
    int kept = 0, lapsed = 0;  ///< leases that ended well, or were dropped for not coming (`sluice_gang_host`)
};

/// A member of a gang that has not ended, of a batch in progress.
struct GangMemberRow {
    GangId gang;
    int size = 0;
    Id workunit = 0, app = 0;
    double fpops = 0;
    bool failed = false;  ///< its workunit has an error
    bool busy = false;    ///< it has an instance that runs or was successful
};

class GangStore {
  public:
    virtual ~GangStore() = default;
    /// Makes the tables of our own if they are missing.
    virtual void prepare() = 0;
    /// Whole gangs of `size` members each, in order. What is there stays as it is.
    virtual void define(std::span<const GangJob> jobs, int size) = 0;
    /// nullopt: there is no such gang.
    virtual std::optional<GangFacts> find(const GangId& gang) = 0;
    /// The gang has ended; it stays so.
    virtual void end(const GangId& gang, std::int64_t now) = 0;
    /// By the logical end times of their batches, then by gang and member; so many rows at most, the last gang whole or
    /// not at all.
    virtual std::vector<GangMemberRow> open_members(int most) = 0;
    /// Hosts that have or had instances of these workunits, as (workunit, host).
    virtual std::vector<std::pair<Id, Id>> hosts_of(std::span<const Id> workunits) = 0;
    virtual std::vector<GangLease> leases() = 0;
    /// Without a lease, that were heard of since then, the last ones first.
    virtual std::vector<GangHost> free_hosts(std::int64_t heard_since, int most) = 0;
    /// Both lists at once or not at all: leases as they are to be, and those that end.
    virtual void write_leases(std::span<const GangLease> keep, std::span<const GangLease> end) = 0;
    /// All gangs of a batch that was retired. Without the tables there are none.
    virtual void remove(Id batch) = 0;
};

std::unique_ptr<GangStore> make_gang_store(Database& db);

}  // namespace sluice
