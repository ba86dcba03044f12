#pragma once
// Which version of an app this host would run, and how fast: every version is looked at once per RPC (plan class,
// preferences, quota, speed); each job then takes the fastest among those that suit it.
#include <array>
#include <deque>
#include <unordered_map>
#include <vector>

#include "sched/match/candidate.h"
#include "sched/match/picked.h"
#include "sluice/match/buda.h"

namespace sluice::match {

struct VersionPick {
    const Offer* offer = nullptr;
    Verdict why;  ///< if offer is null
};

class VersionChooser {
  public:
    VersionChooser(const MatchContext& context, const JobPool& pool);

    /// The fastest version for this job on one resource.
    VersionPick choose(const AppFacts& app, const JobSummary& job, const PoolRef& ref, ProcType type);
    /// The fastest on any of the resources for which `wanted` is true.
    VersionPick choose_any(const AppFacts& app, const JobSummary& job, const PoolRef& ref,
                           const std::array<bool, kProcTypes>& wanted);
    /// Does any version of any app use this resource, as far as the host's platforms go?
    bool has_apps_for(ProcType type) const;
    /// What stands in the way of versions that were looked at, and what their plan classes demand of GPUs.
    void tell(MatchStats& stats) const;

  private:
    struct Memo {
        bool known = false;
        VersionPick pick;
    };
    struct PerApp {
        bool built = false;
        bool depends_on_job = false;                         ///< a plan class with a window of workunits or batches
        std::vector<Offer> offers;                           ///< in order of platform
        std::array<std::array<Memo, 2>, kProcTypes> memo{};  ///< by resource and need of 64 bits; plain jobs only
    };

    PerApp& offers_of(const AppFacts& app);
    const std::vector<Offer>& buda_offers(const AppFacts& app, const JobSummary& job, const PoolRef& ref);
    const Offer* buda_wrapper(const AppFacts& app);
    Offer buda_offer(const AppFacts& app, const Offer& wrapper, const BudaVariant& variant) const;
    static VersionPick best_variant(const std::vector<Offer>& offers, ProcType type);
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
    std::unordered_map<std::uint64_t, std::vector<Offer>> buda_;  ///< by app and hash of the BUDA app's name
};

/// Jobs a day that a host_app_version row allows.
Quota daily_quota(const MatchContext& context, const HostAppVersion& row);
/// The resource of a host_app_version row.
ProcType proc_type_of_row(const MatchContext& context, Id generalized_id);
/// Class of an effective speed (flops per second, availability included); -1: no quantiles.
int size_class_of(const std::vector<double>* quantiles, double effective_speed);

}  // namespace sluice::match
