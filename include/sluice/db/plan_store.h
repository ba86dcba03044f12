// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What batch_planner reads of hosts and batches, and the tables of its own: `sluice_plan`, `sluice_plan_batch`,
// `sluice_plan_seen` and `sluice_plan_host` hold the plan, `sluice_plan_eta` how sure its times are, `sluice_plan_job`
// when instances of planned batches are given up for another, `sluice_plan_copy` which were given up early, for a copy.
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/batch_plan.h"
#include "sluice/model/eta.h"

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
struct OpenPlanResult {
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
struct ReturnedPlanResult {
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

class PlanFactsStore {
  public:
    virtual ~PlanFactsStore() = default;
    /// Hosts that were heard of since then and have recent credit, those with most of it first, then the newest ones.
    virtual void hosts(const HostSelection& selection, const std::function<void(const HostSpeedRow&)>& row) = 0;
    /// Of all apps.
    virtual std::vector<AppVersionUse> versions() = 0;
    /// By batch; a batch without open workunits has no row.
    virtual std::vector<BatchDemandRow> demands(std::span<const Id> batches) = 0;
    /// Their instances that are inactive, unsent or in progress.
    virtual void open_results(std::span<const Id> batches, const std::function<void(const OpenPlanResult&)>& row) = 0;
    /// Those of these instances that came back.
    virtual std::vector<ReturnedPlanResult> returned(std::span<const Id> results) = 0;
    /// Hosts of which instances of these batches came back with an error, by host. Neither what was not started in time
    /// nor what was aborted counts as one.
    virtual std::vector<LeftOutHost> failing_hosts(std::span<const Id> batches) = 0;
    /// Those of these whose jobs are members of gangs: when they run is gang_planner's business.
    virtual std::vector<Id> gang_batches(std::span<const Id> batches) = 0;
    /// The greatest ids that there are, or were. Results are looked at first: those of a batch that comes in between
    /// are newer.
    virtual NewestIds newest() = 0;
};
std::unique_ptr<PlanFactsStore> make_plan_facts_store(Database& db);

/// In BatchPlan::awaited, as a plan is published: it has seen this batch in progress, and its jobs go to anyone. That
/// of batch 0 stands in each plan that tells of all such batches. Schedulers get none of these.
inline Id seen_and_free(Id batch) { return -1 - batch; }

class PlanStore {
  public:
    virtual ~PlanStore() = default;
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
    virtual std::int64_t give_up(std::span<const OpenPlanResult> results, std::int64_t now, bool also_the_last) = 0;
    /// The same for a copy: it is kept that there is one, and of a job there is one in all, whatever becomes of it. The
    /// number of copies.
    virtual std::int64_t copy(std::span<const OpenPlanResult> results, std::int64_t now) = 0;
    /// Copies of jobs of these batches, by workunit.
    virtual std::vector<CopiedJob> copied(std::span<const Id> batches) = 0;
};
std::unique_ptr<PlanStore> make_plan_store(Database& db);

}  // namespace sluice
