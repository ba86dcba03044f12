// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The job array as it stands, for a dry run: a copy that is claimed from and never given back. Nothing in the segment
// changes, whichever processes work on it meanwhile.
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "sched/explain/read_only_stores.h"
#include "sched/handle/decision.h"
#include "sched/handle/rpc_services.h"
#include "sluice/model/host.h"
#include "sluice/model/job.h"
#include "sluice/model/user.h"

namespace sluice {

/// What the dry run is to look at; by default everything.
struct PoolFilter {
    Id app = 0;    ///< 0: all apps
    Id batch = 0;  ///< 0: all jobs
};

class DryJobPool final : public RpcJobPool {
  public:
    /// Without an array: outsiders alone.
    DryJobPool() = default;
    DryJobPool(const JobArray& array, PoolFilter filter);

    /// Of the array's jobs only this one.
    void show_only(Id result);
    /// A job that is not in the array, judged as if it were; its place is behind the last slot, and returned.
    std::uint32_t add_outsider(const JobSummary& job, SlotDoc doc);
    /// An outsider that is there no more; another takes its place.
    void remove_outsider(std::uint32_t place);
    /// The place of a job, an outsider's too; nullopt: it is not here.
    std::optional<std::uint32_t> place_of(Id result) const;
    /// What a request is to see of a place.
    void set_shown(std::uint32_t place, bool shown) { slots_[place].shown = shown; }
    /// The feeder marks retries for reliable hosts; with another configuration others are.
    void mark_reliable(int reliable_on_priority);

    std::uint32_t slots_of_array() const { return slots_of_array_; }
    std::uint32_t shown() const;  ///< jobs of the array that pass the filter
    std::uint32_t jobs_in_array() const { return jobs_in_array_; }
    std::uint32_t locked() const { return locked_; }
    /// The slot that holds a result; nullopt: none does.
    std::optional<std::uint32_t> slot_of(Id result) const;

    std::uint32_t size() const override { return static_cast<std::uint32_t>(slots_.size()); }
    SlotState read(std::uint32_t index, JobSummary& job, SlotRef& ref) const override;
    bool claim(const SlotRef& ref) override;
    void release(const SlotRef& ref) override;
    std::optional<std::string> workunit_xml(const SlotRef& ref) const override;
    std::string keywords(const SlotRef& ref) const override;
    bool any_present() const override;
    std::optional<SlotDoc> document(const SlotRef& ref) const override;
    void consume(const SlotRef&) override {}
    void release_all() override;

    /// Ends a request. What it claimed stays claimed until so many more have ended, as if requests were decided at the
    /// same time. 0: it is free at once.
    void hold_for(int requests);

  private:
    struct Slot {
        SlotState state = SlotState::kEmpty;
        JobSummary job;
        SlotRef ref;
        bool shown = false, claimed = false;
        std::optional<SlotDoc> doc;  ///< outsiders
    };
    const JobArray* array_ = nullptr;
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;              ///< places of outsiders that went
    std::vector<std::uint32_t> claimed_;           ///< places, of this request
    std::deque<std::vector<std::uint32_t>> held_;  ///< by earlier ones
    std::uint32_t slots_of_array_ = 0, jobs_in_array_ = 0, locked_ = 0;
};

// One scheduler RPC as the cgi would handle it, without the writes: what would be sent, and what became of every other
// job.

/// The place of a job's batch in the order by users' shares.
struct BatchPlace {
    Id user_id = 0;
    double end = 0;  ///< LET, project-seconds; infinite: the user has no quota
    double lag = 0;  ///< s behind the least LET of the candidates
};

/// A job on one resource of the host, judged. TraceRow without pointers.
struct JudgedJob {
    std::uint32_t slot = 0;
    JobSummary job;
    ProcType resource = ProcType::kCpu;
    Verdict verdict;                  ///< the first refusal
    Reason fate = Reason::kFeasible;  ///< kFeasible: it would be sent
    double score = 0;
    std::optional<std::uint32_t> share_band = {};  ///< as in TraceRow
    std::vector<TraceRow::Term> terms;
    std::string app, plan_class, platform;
    Id app_version_id = 0;
    int version_num = 0;
    double projected_flops = 0, runtime = 0;  ///< 0: no version
    int host_size_class = -1;
    bool size_is_guess = false;
    std::optional<BatchPlace> batch_place;  ///< nullopt: shares say nothing of it
    std::optional<PlannedBatch> plan;       ///< nullopt: its batch is not planned
};

struct Explanation {
    Host host;
    User user;
    HostFacts facts;
    Search search = Search::kNotAsked;
    MatchStats stats;
    WorkRequest wanted;
    std::vector<JudgedJob> jobs;
    std::vector<std::string> other_jobs;  ///< that would be sent though they are not of the array: one line each
    std::vector<std::string> messages;    ///< what the volunteer would read
    std::uint32_t slots = 0, in_array = 0, locked = 0;
};

/// Says of each job whose batch is in the order by users' shares where it stands there.
void place_batches(std::vector<JudgedJob>& jobs, const ProjectTables& tables);

/// `services.trace` is used by the dry run itself.
Explanation dry_run(RpcServices& services, const DryJobPool& pool, const SchedulerRequest& request);

/// What one request would get, without a word on every other job: as quick as the scheduler itself.
struct DryDecision {
    struct Job {
        Id result = 0;
        ProcType resource = ProcType::kCpu;
        Id app = 0;
        std::string plan_class;
    };
    Search search = Search::kNotAsked;
    MatchStats stats;
    std::vector<Job> jobs;              ///< of the array; their slots stay claimed in the pool
    std::vector<Id> resent;             ///< results that the host lost and would get again
    int assigned = 0;                   ///< new instances that would be made for this host
    std::vector<std::string> messages;  ///< what the volunteer would read
    Id hostid = 0;                      ///< 0: a new host, or nobody's
    double seconds = 0;                 ///< wall time of the decision, its look-ups in the database included
};
DryDecision dry_decision(RpcServices& services, const SchedulerRequest& request);

/// What the database says, except that one result counts as unsent, so that the other checks get to it. Writes
/// are refused.
class AsUnsentStore final : public ReadOnlyResults {
  public:
    /// `result`: id 0: none is judged so.
    AsUnsentStore(RpcResultStore& store, const KnownResult& result) : ReadOnlyResults(store), result_(result) {}
    std::vector<WorkunitFacts> facts(const FactsQuery& query) override;
    /// The one job is to be judged by itself.
    std::vector<UnsentJob> jobs_of_groups(const GroupQuery& query) override {
        return result_.id != 0 ? std::vector<UnsentJob>{} : ReadOnlyResults::jobs_of_groups(query);
    }

  private:
    KnownResult result_;
};

}  // namespace sluice
