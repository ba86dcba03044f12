// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which version of an app this host would run, and how fast. Every version is examined once per RPC (plan class,
// preferences, quota, speed); each job then takes the fastest one that suits it.
#include <array>
#include <deque>
#include <unordered_map>
#include <vector>

#include "sched/match/candidate.h"
#include "sched/match/picked.h"
#include "sluice/match/buda.h"

namespace sluice::match {

/// Speed and trust of a version on this host, from statistics.
const HostAppVersion* find_row(const HostFacts& host, Id generalized_id);
bool is_reliable(const MatchContext& context, const HostAppVersion* row);
bool is_trusted(const MatchContext& context, const HostAppVersion* row);

struct SpeedEstimate {
    double flops = 0;
    bool guess = true;  ///< no history of this host
};
/// From host_app_version, else the version's statistics, else the benchmark.
SpeedEstimate estimate_speed(const MatchContext& context, const AppVersion& version, const HostAppVersion* row,
                             const HostUsage& usage);
/// What versions are compared by: plan class figure and estimate, mixed by experience. A random factor lets every
/// version be tried now and then.
double compared_speed(const MatchContext& context, const HostAppVersion* row, double plan_class_flops, double estimate);

struct VersionPick {
    const Offer* offer = nullptr;
    Verdict why;  ///< if offer is null
};

/// By resource.
using Picks = std::array<VersionPick, kProcTypes>;

class VersionChooser {
  public:
    VersionChooser(const MatchContext& context, const JobPool& pool);

    /// The fastest versions for this job, where they are known already: for all but jobs with conditions of their own
    /// (pinned, committed, windows of a plan class), for which it is null. A refusal for want of 64 bits lacks the
    /// job's figure.
    const Picks* picks(const AppFacts& app, const JobSummary& job, const SlotRef& ref) {
        if (job.is_buda) return &buda_versions(app, job, ref).picks;
        const PerApp& versions = versions_of(app);
        return is_plain(app, versions, job) ? &versions.picks[job.rsc_memory_bound > address_space_ ? 1 : 0] : nullptr;
    }
    /// The fastest version for this job on one resource.
    VersionPick choose(const AppFacts& app, const JobSummary& job, const SlotRef& ref, ProcType type);
    /// The fastest on any of the resources for which `wanted` is true.
    VersionPick choose_any(const AppFacts& app, const JobSummary& job, const SlotRef& ref,
                           const std::array<bool, kProcTypes>& wanted);
    /// Offers are numbered as they are made; they stay where they are as long as the chooser lives.
    const Offer& offer(std::uint32_t number) const { return *offers_[number]; }
    /// Does any version of any app use this resource, as far as the host's platforms go?
    bool has_apps_for(ProcType type) const;
    /// If not: that there are none, or that level 0 does not see them.
    Verdict why_no_apps_for(ProcType type, const std::vector<AppFacts>& apps);
    /// What stands in the way of versions that were looked at, and what their plan classes demand of GPUs.
    void tell(MatchStats& stats) const;

  private:
    struct PerApp {
        bool built = false;
        bool depends_on_job = false;   ///< a plan class with a window of workunits or batches
        std::vector<Offer> offers;     ///< in order of platform
        std::array<Picks, 2> picks{};  ///< by need of 64 bits; for plain jobs only
    };
    struct PerBudaApp {
        std::vector<Offer> offers;
        Picks picks{};
    };

    const PerApp& versions_of(const AppFacts& app) {
        PerApp& versions = apps_[app.index];
        if (!versions.built) build(app, versions);
        return versions;
    }
    /// Only jobs without conditions of their own may use what other jobs found.
    static bool is_plain(const AppFacts& app, const PerApp& versions, const JobSummary& job) {
        return job.app_version_num == 0 && !versions.depends_on_job &&
               (job.app_version_id == 0 || !app.app->homogeneous_app_version);
    }
    void build(const AppFacts& app, PerApp& versions);
    bool hidden_by_name(const Offer& offer) const;
    void number(std::vector<Offer>& offers);
    const PerBudaApp& buda_versions(const AppFacts& app, const JobSummary& job, const SlotRef& ref);
    /// Null: there is none, for `none`.
    const Offer* buda_wrapper(const AppFacts& app, Verdict& none);
    Offer buda_offer(const AppFacts& app, const Offer& wrapper, const BudaVariant& variant) const;
    static VersionPick best_variant(const std::vector<Offer>& offers, ProcType type, const Verdict& none);
    Verdict suits(const AppFacts& app, const Offer& offer, const JobSummary& job, ProcType type) const;
    VersionPick best(const AppFacts& app, const PerApp& versions, const JobSummary& job, ProcType type) const;
    void build_native(const AppFacts& app, PerApp& out) const;
    void build_anonymous(const AppFacts& app, PerApp& out) const;
    Offer native_offer(const AppFacts& app, std::size_t version_index, const std::string& platform) const;
    Offer anonymous_offer(const AppFacts& app, std::size_t client_index) const;
    void apply_plan_class(const std::string& name, Offer& offer) const;
    void finish(const AppFacts& app, Offer& offer) const;
    void tell_anonymous(const PerApp& versions, Id appid, MatchStats& stats) const;
    void tell(const Offer& offer, Id appid, MatchStats& stats) const;

    const MatchContext& x_;
    const JobPool& pool_;
    double address_space_ = 0;  ///< bytes a 32-bit program of the primary platform can use
    std::array<bool, kProcTypes> project_has_;
    std::vector<PerApp> apps_;
    std::vector<const Offer*> offers_;                    ///< by number
    std::unordered_map<std::uint64_t, PerBudaApp> buda_;  ///< by app and hash of the BUDA app's name
};

/// Which refusal to report when several versions fail: the one that says most.
bool says_more(const Verdict& a, const Verdict& b);
Verdict check_type_allowed(const UserFacts& user, ProcType type);
/// Of a version that uses another resource: a GPU that the host has not is missing, whatever it asks for.
Verdict not_of_this_resource(const Offer& offer);
/// A refusal of Picks with the figures of one job.
Verdict for_this_job(const Verdict& why, const JobSummary& job);
/// Jobs a day that a host_app_version row allows.
Quota daily_quota(const MatchContext& context, const HostAppVersion& row);
/// The resource of a host_app_version row.
ProcType proc_type_of_row(const MatchContext& context, Id generalized_id);
/// Class of an effective speed (flops per second, availability included); -1: no quantiles.
int size_class_of(const std::vector<double>* quantiles, double effective_speed);

}  // namespace sluice::match
