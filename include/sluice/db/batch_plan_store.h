// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What planners read and write. batch_planner: `sluice_plan`, `sluice_plan_batch`, `sluice_plan_seen` and
// `sluice_plan_host` hold the plan, `sluice_plan_eta` how sure its times are, `sluice_plan_job` when instances of
// planned batches are given up for another, `sluice_plan_copy` which were given up early, for a copy.
// gang_planner (docs/gangs.md): `sluice_gang` has a row a gang, `sluice_gang_job` one a member.
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/batch_plan.h"
#include "sluice/model/codes.h"
#include "sluice/model/eta.h"
#include "sluice/model/gang.h"
#include "sluice/model/platform_set.h"

namespace sluice {

/// A host with what was measured of one of its app versions; rows of a host follow each other.
struct HostSpeedRow {
    Id host = 0;
    int cpus = 1;
    double p_fpops = 0, on_frac = 0, active_frac = 0;
    std::int64_t rpc_time = 0;
    Id app = 0;                 ///< 0: nothing was measured
    double seconds_per_op = 0;  ///< elapsed, of one rsc_fpops_est operation
    Id version = 0;             ///< generalized_version_id() of what was measured
    int gpus = 0;               ///< of all types
    double gpu_fpops = 0;       ///< peak speed of all of these
    double gpu_active_frac = 0;
    std::string misc{};  ///< host.misc, where it was asked for and the host has GPUs
};
struct HostSelection {
    std::int64_t heard_since = 0;
    int most = 0;                      ///< rows
    std::int64_t misc_since = kNever;  ///< host.misc is read of those that were heard of since then
};

/// What versions of an app take of a host is said by their plan classes.
struct AppVersionUse {
    Id id = 0, app = 0;
    std::string plan_class;
    bool sent = true;               ///< neither deprecated nor older than app.min_version
    double pfc_n = 0, pfc_avg = 0;  ///< peak operations claimed for an operation of rsc_fpops_est
};

/// What is left of a batch.
struct BatchDemandRow {
    Id batch = 0, app = 0;  ///< the app of most of its open workunits
    std::int64_t open = 0;  ///< workunits without canonical result and error
    double mean_fpops = 0;  ///< rsc_fpops_est of these
};

/// An instance that is not over.
struct OpenBatchResult {
    Id id = 0, workunit = 0, batch = 0, host = 0;
    ServerState state = ServerState::kUnsent;
    std::int64_t create_time = 0, sent_time = 0;
    Id version = 0;  ///< result.app_version_id: -2 - ProcType where the client has a version of its own
};

/// When an instance in progress is given up for another: a row of sluice_plan_job.
struct ReissueTimer {
    Id result = 0, batch = 0;
    double at = 0;  ///< UNIX s
    friend bool operator==(const ReissueTimer&, const ReissueTimer&) = default;
};

/// An instance that came back.
struct ReturnedBatchResult {
    Id id = 0;
    double elapsed = 0;  ///< s, as its client tells; 0: it failed
    double fpops = 0;    ///< its job's rsc_fpops_est
};

/// A row of sluice_plan_copy: the job has a second instance.
struct CopiedJob {
    Id workunit = 0, batch = 0;
    friend bool operator==(const CopiedJob&, const CopiedJob&) = default;
};

/// 0: there is none.
struct NewestIds {
    Id batch = 0, result = 0;
};

class BatchPlanFactsStore {
  public:
    virtual ~BatchPlanFactsStore() = default;
    /// Hosts that were heard of since then and have recent credit, those with most of it first, then the newest ones.
    virtual void hosts(const HostSelection& selection, const std::function<void(const HostSpeedRow&)>& row) = 0;
    /// Of all apps.
    virtual std::vector<AppVersionUse> versions() = 0;
    /// By batch; a batch without open workunits has no row.
    virtual std::vector<BatchDemandRow> demands(std::span<const Id> batches) = 0;
    /// Their instances that are inactive, unsent or in progress.
    virtual void open_results(std::span<const Id> batches, const std::function<void(const OpenBatchResult&)>& row) = 0;
    /// Those of these instances that came back.
    virtual std::vector<ReturnedBatchResult> returned(std::span<const Id> results) = 0;
    /// Hosts of which instances of these batches came back with an error, by host. Neither what was not started in time
    /// nor what was aborted counts as one.
    virtual std::vector<LeftOutHost> failing_hosts(std::span<const Id> batches) = 0;
    /// Those of these whose jobs are members of gangs: when they run is gang_planner's business.
    virtual std::vector<Id> gang_batches(std::span<const Id> batches) = 0;
    /// The greatest ids that there are, or were. Results are looked at first: those of a batch that comes in between
    /// are newer.
    virtual NewestIds newest() = 0;
};
std::unique_ptr<BatchPlanFactsStore> make_batch_plan_facts_store(Database& db);

/// In BatchPlan::awaited, as a plan is published: it has seen this batch in progress, and its jobs go to anyone. That
/// of batch 0 stands in each plan that tells of all such batches. Schedulers get none of these.
inline Id seen_and_free(Id batch) { return -1 - batch; }

class BatchPlanStore {
  public:
    virtual ~BatchPlanStore() = default;
    /// Makes the tables of our own if they are missing.
    virtual void prepare() = 0;
    /// The plan that was published last; version 0: there is none.
    virtual BatchPlan plan() = 0;
    /// The same for who hands out jobs, with `newest_batch`, `newest_result` and `awaited` as they are now: nobody's
    /// job goes out before this has seen its batch. Awaited are, beside those of the plan: batches in progress that
    /// the plan has not seen so; those that are being submitted, or were a moment ago; of the kMostDrafts newest, those
    /// in state INIT without jobs, or whose first job was made less than a minute before the plan: they may be
    /// submitted any moment. Any other batch in state INIT is a stream, which needs no plan.
    virtual BatchPlan plan_for_schedulers() = 0;
    static constexpr Id kMostDrafts = 10'000;
    /// Jobs of the batch are about to be inserted, and it is to be planned when all are there: none of them is sent
    /// before. Holds for kPlanIsAwaited, or until it is forgotten. Nothing is noted where the tables are
    /// missing: no planner has run, and nothing waits for one.
    virtual void note_submission(Id batch, double now) = 0;
    /// These are decided upon; others go when they are a day old.
    virtual void forget_submissions(std::span<const Id> batches, double now) = 0;
    /// Takes the place of the plan before, with batch.est_completion_time (batch, UNIX s) of batches in progress; whole
    /// or not at all. Returns its version.
    virtual std::int64_t publish(const BatchPlan& plan, std::span<const std::pair<Id, double>> completions) = 0;
    /// How sure the times are by which batches are expected to be done; the defaults: nobody has learnt it yet.
    virtual EtaFactors eta_factors() = 0;
    virtual void keep_eta_factors(const EtaFactors& factors) = 0;
    /// By result.
    virtual std::vector<ReissueTimer> timers() = 0;
    /// A timer that is there stays as it is.
    virtual void set_timers(std::span<const ReissueTimer> add, std::span<const Id> remove) = 0;
    /// Instances that are still in progress, of workunits that may have another instance (`also_the_last`: of any):
    /// over, without a reply; their report deadline stays, until which they are taken. Workunits are looked at by the
    /// transitioner at `now`. The number given up.
    virtual std::int64_t give_up(std::span<const OpenBatchResult> results, std::int64_t now, bool also_the_last) = 0;
    /// The same for a copy: it is kept that there is one, and of a job there is one in all, whatever becomes of it. The
    /// number of copies.
    virtual std::int64_t copy(std::span<const OpenBatchResult> results, std::int64_t now) = 0;
    /// Copies of jobs of these batches, by workunit.
    virtual std::vector<CopiedJob> copied(std::span<const Id> batches) = 0;
};
std::unique_ptr<BatchPlanStore> make_batch_plan_store(Database& db);

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
    OpenBatchResult result;
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
