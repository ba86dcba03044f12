// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Matchmaking: which jobs of the pool a host gets. Seeds 002 (value function, N/M/L, sets) and 003 (size classes),
// job selection of 004. Pure but for claiming slots of the pool: the same code serves the CGI, sched_explain and the
// simulator.
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/base/rng.h"
#include "sluice/match/app_choice.h"
#include "sluice/match/host_facts.h"
#include "sluice/match/job_pool.h"
#include "sluice/match/verdict.h"
#include "sluice/model/match_params.h"
#include "sluice/model/project_tables.h"

namespace sluice {

struct App;
struct Host;

class PlanClasses;    // sluice/match/plan_classes.h: built-in classes, or plan_class_spec.xml
class BudaCatalogue;  // sluice/match/buda.h

/// Const view of everything a decision may depend on. Everything outlives the Matcher.
struct MatchContext {
    const HostFacts& host;
    const UserFacts& user;
    const WorkRequest& wanted;
    const ProjectTables& tables;
    const MatchParams& params;
    const PlanClasses& plan_classes;
    const BudaCatalogue* buda = nullptr;
    double now = 0;
    Rng& rng;
};

/// A job that this reply will carry (claimed in the pool).
struct Chosen {
    JobSummary job;
    SlotRef ref;
    const App* app = nullptr;
    AppChoice version;
    double score = 0;
    std::optional<std::uint32_t> share_band = {};  ///< as in TraceRow
    double estimated_runtime = 0;                  ///< s, availability included
    double delay_bound = 0;                        ///< s: report deadline = now + this (+ grace in the database)
    int hr_class_to_commit = 0;                    ///< 0: app has no HR; else what workunit.hr_class must be or become
    bool commit_app_version = false;
    WorkunitFacts facts;
    int host_size_class = -1;  ///< as in TraceRow
};

/// One row of the decision trace, written for every candidate when a sink is attached.
struct TraceRow {
    SlotRef ref;
    const JobSummary* job = nullptr;
    ProcType resource = ProcType::kCpu;
    Verdict verdict;  ///< the first refusal, or kFeasible
    double score = 0;
    /// Of candidates, where <share_rule> orders batches: jobs of a lower band go first, whatever their scores.
    std::optional<std::uint32_t> share_band = {};
    struct Term {
        const char* name;
        double weight, value;
    };
    std::vector<Term> terms;             ///< only for scored candidates
    Reason fate = Reason::kFeasible;     ///< kFeasible = sent
    const App* app = nullptr;            ///< null: not in the tables
    const AppChoice* version = nullptr;  ///< null: none found
    int host_size_class = -1;            ///< -1: app has no size classes, or sizes are unknown
    bool size_is_guess = false;          ///< the host's size class comes from its benchmark, not from its history
};
/// Pointers in a row are valid during the call only.
class Trace {
  public:
    virtual ~Trace() = default;
    virtual void row(const TraceRow& row) = 0;
};

struct ReasonCount {
    std::uint32_t count = 0;
    Verdict nearest;  ///< the refusal that missed by least (relative)
    Id nearest_result = 0, appid = 0;
};
/// What kept jobs of an app from this host and the volunteer may be told: each once, with its measures.
struct Obstacle {
    Id appid = 0;
    Verdict verdict;  ///< kDailyQuota: value is the row's own figure, required the one scaled by processors
};
/// What the plan classes that were looked at demand of one kind of GPU: the least that serves one of them, and what
/// serves all.
struct GpuDemand {
    double min_ram = 0, all_ram = 0;
    int min_driver = 0, all_drivers = 0;
};
struct MatchStats {
    static constexpr std::size_t kMaxObstacles = 32;
    std::uint32_t slots_scanned = 0, slots_locked = 0, candidates = 0, claims_lost = 0;
    bool locked_over_limit = false;  ///< L was reached: the array is too small for the load
    std::uint32_t fact_loads = 0;    ///< calls of FactsSource::load
    bool pool_empty = true;          ///< no PRESENT slot was seen
    std::array<ReasonCount, static_cast<std::size_t>(Reason::kCount)> reasons{};
    std::vector<Obstacle> obstacles;  ///< at most kMaxObstacles
    std::array<GpuDemand, kProcTypes> gpu_demands{};
    std::vector<Id> apps_with_jobs;  ///< of which a version was found for some job
};

struct MatchResult {
    std::vector<Chosen> jobs;  ///< in order of value; claims are held in the pool until the caller consumes
    MatchStats stats;
    /// What is still wanted after these jobs.
    WorkRequest left;
};

/// Jobs that do not come from the pool but go through the same checks and the same trace.
enum class JobOrigin {
    kResend,     ///< lost job: the client no longer has it; version, app selection, fast checks, deadline
    kTargeted,   ///< assignment of one host, user or team: level 0 checks the version and app selection only
    kBroadcast,  ///< assignment with multi != 0, likewise
    kAppointed   ///< the host came at an agreed time: all checks but the deadline, as the job runs at once
};

class Matcher {
  public:
    static constexpr int kMaxPassedOverNotes = 256;
    static constexpr int kMaxLoads = 8;                 ///< of facts, by match(): one statement each
    static constexpr std::size_t kMaxShortlist = 1000;  ///< jobs of one load

    /// `trace` may be null.
    Matcher(const MatchContext& context, JobPool& pool, FactsSource& facts, Trace* trace = nullptr);
    ~Matcher();
    /// The scan and choice over the pool (score policy; ordinary jobs).
    MatchResult match();
    /// Non-CPU-intensive apps: one job for each NCI app of which the host has none.
    MatchResult match_non_cpu_intensive(const std::vector<Id>& apps_on_host);
    /// Counts a job that this reply carries already (lost job resent, targeted job) against the request and limits.
    void account(const Chosen& job);
    /// The checks for a job from elsewhere; fills `chosen` (all but ref and facts) and writes a trace row. The caller
    /// sends it and then calls account(). For kResend, `job.delay_bound` is the time left.
    Verdict consider(const JobSummary& job, JobOrigin origin, Chosen& chosen);
    /// work_needed of the facts, after everything accounted so far.
    bool work_needed() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// HR class of a host; 0 = unknown for that type (facts: matchmaking §7; level 1 knows Apple silicon, FreeBSD,
/// Android). `platforms`: the client's; at level 1 they tell Android from Linux and ARM from other processors where the
/// host's row does not.
int hr_class(const Host& host, HrType type, int compat_level, std::span<const std::string> platforms = {});

}  // namespace sluice
