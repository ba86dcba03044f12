// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A second implementation of the rules of matchmaking, written from the design (seeds 002, 003, 004) and from
// upstream's behaviour, not from sched/match, of which it includes nothing: it reads the same input and makes every
// decision in the most obvious way. It looks at every job for every resource, asks for everything anew each time and
// remembers nothing. docs/compat.md says where its rules are ours and not upstream's.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sluice/base/rng.h"
#include "sluice/match/host_facts.h"
#include "sluice/match/job_pool.h"
#include "sluice/match/verdict.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/host.h"
#include "sluice/model/match_params.h"
#include "sluice/model/project_tables.h"

namespace sluice::oracle {

/// Every draw of a decision gives the same bits: then it does not matter who draws first, nor how often.
class SameBits final : public Rng {
  public:
    explicit SameBits(std::uint64_t bits) : bits_(bits) {}
    std::uint64_t next() override { return bits_; }

  private:
    std::uint64_t bits_;
};

/// All that a decision may depend on.
struct World {
    struct Slot {
        SlotState state = SlotState::kEmpty;
        JobSummary job;
        std::uint32_t infeasible = 0;  ///< times found committed elsewhere
        bool taken = false;            ///< another scheduler claims it first
        WorkunitFacts facts;           ///< what the database says now
    };
    HostFacts host;
    UserFacts user;
    WorkRequest wanted;
    ProjectTables tables;
    MatchParams params;
    double now = 0;
    std::uint64_t bits = 0;  ///< of SameBits
    std::vector<Slot> slots;
};

/// What becomes of one job on one resource.
struct Fate {
    std::set<Reason> why;  ///< what may be given as the reason; kFeasible: sent
    bool candidate = false;
    double score = 0;  ///< of candidates
    int host_size_class = -1;
    std::optional<std::uint32_t> share_band;
};
struct Sent {
    Id result = 0, version = 0;  ///< version: -2 - type for those of anonymous platform
    int type = 0;
    double score = 0, delay_bound = 0, runtime = 0, flops = 0;
    int hr_class = 0;
    bool reliable = false, trusted = false;
};
struct Decision {
    std::vector<Sent> sent;
    std::map<std::pair<Id, int>, Fate> fates;  ///< by result and resource
    WorkRequest left;
    std::uint32_t scanned = 0, locked = 0;
    bool array_too_small = false;
    bool satisfied = false;  ///< nothing is wanted any more, or the reply is full
};

/// One app version as this host would run it.
struct Version {
    Id id = 0, statistics_id = 0;  ///< statistics_id: key of host_app_version
    int number = 0, type = 0;
    bool old = false, is_64 = false, anonymous = false, beta = false;
    std::size_t platform_rank = 0;
    double ncpus = 1, gpus = 0, class_flops = 0, peak_flops = 0;  ///< as the plan class has it
    double flops = 0, compared = 0;                               ///< as expected; as compared with others
    bool reliable = false, trusted = false;
    Reason refused = Reason::kFeasible;          ///< whatever the job
    Reason refused_too = Reason::kNoAppVersion;  ///< may be given instead
};

class Rules {
  public:
    explicit Rules(const World& world);
    /// The decision over the whole array (N off), or as far as M.
    Decision decide();
    /// Every version of an app (rules_version.cpp).
    std::vector<Version> versions_of(const App& app) const;

  private:
    // rules_version.cpp
    struct PlanClass {
        Reason refused = Reason::kFeasible;
        int type = 0;
        double ncpus = 1, gpus = 0, flops = 0, peak = 0;
        Reason refused_too = Reason::kNoAppVersion;
    };
    PlanClass plan_class(const std::string& name) const;
    PlanClass gpu_class(int type, double ram_mb, double cpu_part, double scale, Reason refused,
                        bool opencl = false) const;
    Version native(const AppVersion& row, std::size_t platform_rank) const;
    Version anonymous(const App& app, const ClientAppVersion& entry) const;
    void apply_statistics(Version& v, double version_n, double version_avg) const;
    double address_space() const;
    Reason refusal_for_job(const App& app, const Version& v, const JobSummary& job, int type) const;
    std::optional<Version> best_version(const App& app, const JobSummary& job, int type, std::set<Reason>& why) const;
    bool has_version_for(int type) const;

    // rules_checks.cpp
    Reason app_check(const App& app) const;
    Reason job_check(const App& app, const JobSummary& job) const;
    Reason version_check(const App& app, const JobSummary& job, const Version& v) const;
    Reason last_check(const JobSummary& job) const;
    Reason slow_check(const App& app, const World::Slot& slot, const Version& v) const;
    double score(const App& app, const World::Slot& slot, const Version& v) const;
    double weight(const char* term, double level0, double level1) const;
    double low_turnaround(const Version& v) const;
    double rank_points(int priority, const std::vector<int>& priorities) const;
    int size_class(const App& app, const Version& v) const;

    // rules_choice.cpp
    struct Reply;
    struct Job {
        const World::Slot* slot;
        const App* app;
        Version version;
        double score;
        std::uint32_t band = 0;  ///< of the order of shares: the lower goes first
        double lag = 0;          ///< points within the band
    };
    void look_at_all(std::vector<int>& passes);
    std::vector<Job> candidates(int type);
    void walk(int type, std::vector<Job> jobs);
    void order_by_shares(std::map<int, std::vector<Job>>& of) const;
    const BatchShare* share(const Job& job) const;
    Id first_by_lot(const std::map<int, std::vector<Job>>& of) const;
    Reason try_job(const Job& job, int type, double& bound);
    Reason limits(const App* app, int type) const;
    Reason ends_all() const;
    Reason deadline(const Job& job, double bound) const;
    double attainable(const Job& job) const;
    Reason memory_together(const Job& job) const;
    void add(const Job& job, double bound);
    bool wants(int type) const;

    const bool ours_;  ///< compat_level 1
    const World& w_;
    const HostFacts& h_;
    const MatchParams& p_;
    mutable SameBits rng_;

    // the reply so far
    struct Queued {
        double deadline, duration, width;
        int type;
    };
    Decision d_;
    std::vector<const World::Slot*> seen_;
    std::set<const World::Slot*> gone_;
    std::vector<Queued> queue_;
    std::vector<double> memory_;
    std::vector<Id> workunits_;
    std::map<Id, int> sent_of_;                  ///< by statistics_id, in this reply
    std::map<std::pair<Id, int>, int> running_;  ///< by app and type, host and reply
    std::map<int, int> running_type_;
    int running_total_ = 0, jobs_ = 0;
    double disk_ = 0;
};

/// Shared arithmetic.
int gpus_of(const HostFacts& host, int type);
const HostAppVersion* statistics_of(const HostFacts& host, Id id);
/// Jobs of this row that the host may get today; < 0: no quota.
double quota_of(const World& world, const HostAppVersion& row, int type);
bool selected(const UserFacts& user, const App& app);
int hr_type(const MatchParams& params, const App& app);
int host_hr_class(const World& world, const App& app);

}  // namespace sluice::oracle
