// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which jobs wait for batch_planner's next plan, as every BatchPlanStore finds it, apart from SQL.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "sluice/db/batch_plan_store.h"
#include "sluice/db/share_store.h"
#include "sluice/db/validate_store.h"
#include "sluice/model/average.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/project_tables.h"
#include "sluice/model/resource_of.h"

namespace sluice {

struct HostAppVersion;
struct Result;

/// A batch that is being submitted, or was a moment ago.
struct NotedSubmission {
    Id batch = 0;
    double heard_at = 0;  ///< UNIX s
};
inline constexpr double kSubmissionKept = 86400;  ///< s
/// BOINC's pages make a batch, call create_work for its jobs, and set it in progress: so long they may take.
inline constexpr double kFilledWithin = 60;  ///< s

/// A batch in state INIT.
struct NewBatch {
    Id batch = 0;
    std::int64_t first_job = 0;  ///< workunit.create_time; 0: it has no job
};

/// Batches that a plan may not have seen, in the order in which they are to be read: a batch is noted before it has
/// jobs, so none that is being submitted is missing; and what the plan decides meanwhile is in the plan.
struct UnplannedBatches {
    NewestIds newest;
    std::vector<NewBatch> drafts;  ///< up to newest.batch
    std::vector<NotedSubmission> submissions;
};

/// May be in progress any moment; any other is a stream.
inline bool may_be_submitted(const NewBatch& b, const BatchPlan& plan) {
    const double age = plan.made_at - static_cast<double>(b.first_job);
    return b.first_job == 0 || (age < kFilledWithin && age > -kPlanIsAwaited);
}

/// Every planner looks as far back, in ids.
inline constexpr Id kSeenByPlanners = 5000;

/// Of which batches in progress awaiting() asks: those with ids above this.
inline Id begun_after(const BatchPlan& plan) {
    const bool tells = std::ranges::binary_search(plan.awaited, seen_and_free(0));
    return tells ? plan.newest_batch - kSeenByPlanners : plan.newest_batch;
}

/// BatchPlanStore::plan_for_schedulers(). `begun`: batches in progress, of begun_after().
inline BatchPlan awaiting(BatchPlan plan, const UnplannedBatches& unplanned, const std::vector<Id>& begun) {
    std::vector<Id> unknown;
    for (const Id id : begun)
        if (plan.find_batch(id) == nullptr && !std::ranges::binary_search(plan.awaited, seen_and_free(id)))
            unknown.push_back(id);
    std::erase_if(plan.awaited, [](Id id) { return id < 0; });
    // Of a submission that was killed nothing is heard: its jobs wait no longer than a plan is awaited.
    for (const NotedSubmission& s : unplanned.submissions)
        if (std::abs(plan.made_at - s.heard_at) <= kPlanIsAwaited) plan.awaited.push_back(s.batch);
    for (const NewBatch& b : unplanned.drafts)
        if (may_be_submitted(b, plan)) plan.awaited.push_back(b.batch);
    plan.awaited.insert(plan.awaited.end(), unknown.begin(), unknown.end());
    std::sort(plan.awaited.begin(), plan.awaited.end());
    plan.awaited.erase(std::unique(plan.awaited.begin(), plan.awaited.end()), plan.awaited.end());
    plan.newest_batch = unplanned.newest.batch;
    plan.newest_result = unplanned.newest.result;
    return plan;
}

/// BatchPlanStore::forget_submissions().
inline bool is_to_be_forgotten(const NotedSubmission& s, std::span<const Id> decided, double now) {
    return std::ranges::find(decided, s.batch) != decided.end() || std::abs(now - s.heard_at) > kSubmissionKept;
}

// What every ShareStore does alike, apart from SQL.

inline constexpr double kFlopsPerDailyCredit = 1e9 / 200;  ///< 200 a day are one GFLOPS

/// A result that is over may still change for so long, s: its reporter is not done, or the transitioner is late.
inline constexpr double kSettledAfter = 3600;

/// StreamWork::next_until of a stream that is settled up to `until`. Above the present: the server's clock was wrong,
/// and is right again.
inline double next_settled(double until, double now) {
    return until > now ? now - kSettledAfter : std::max(until, now - kSettledAfter);
}

/// ShareStore::work_without_batch() of one that nothing is stored of, before its rows are read.
inline BatchWork stream_without_batch(Id owner, double now) {
    BatchWork w;
    w.id = kWithoutBatch;
    w.user_id = owner;
    w.state = BatchState::kInit;
    w.stream.emplace();
    w.stream->until = now - kSettledAfter;
    return w;
}

/// A quota of user_submit as shares are made of it; 0: the user has none.
inline double usable_quota(double quota) {
    return quota > 0 ? std::clamp(quota, share::kLeastQuota, share::kMostQuota) : 0;
}

/// Workunit.rsc_fpops_est as shares count it: sums stay finite whatever a submitter wrote.
inline double usable_estimate(double fpops) { return std::clamp(fpops, 0.0, 1e30); }

/// What an instance used: the time of the devices that it held times their speed. A device is a processor by the host's
/// benchmark (without one: 1e9), or all that the app version takes of processors and GPUs, `r.flops_estimate`, where
/// that is more. Both stores bound what a client tells: three years, 1e12 operations a second of a processor, 1e15 of a
/// version, and no longer on GPUs than from the instance's sending to its report.
inline double measured_operations(const Result& r, double benchmark) {
    constexpr double kLongestRun = 1e8;
    const double processor = benchmark >= 1e6 ? std::min(benchmark, 1e12) : 1e9;
    const double known =
        r.sent_time > 0 ? static_cast<double>(std::max<std::int64_t>(r.received_time - r.sent_time, 0)) : kLongestRun;
    const double on_devices = std::min({std::max(r.elapsed_time, 0.0), known, kLongestRun});
    return std::max(std::clamp(std::max(r.elapsed_time, r.cpu_time), 0.0, kLongestRun) * processor,
                    on_devices * std::clamp(r.flops_estimate, 0.0, 1e15));
}

/// ShareBook::own_lst of a user, to be stored: of what the clock was given, and what it has made of his LST.
inline double next_own_lst(const ShareBook& book, Id user, double own_before, double lst_before, double lst) {
    const auto own = book.own_lst.find(user);
    if (own == book.own_lst.end() || own->second != own_before) return lst;
    return own_before == lst_before ? lst : own_before + (lst - lst_before);
}

/// The clock takes the quotas that the book has of user_submit.
inline void take_quotas(ShareBook& book, double now) {
    const auto& users = book.clock.users();
    for (const auto& [user, quota] : book.quotas) {
        const auto known = users.find(user);
        if (quota > 0 && (known == users.end() || known->second.quota != quota)) book.clock.set_quota(now, user, quota);
    }
}

// What a verdict does to the statistics of a host: formulas that every ValidateStore shares. Upstream behaviour.

inline void add_verdict(HostAppVersion& hav, const ValidationWrite::HostRow& h) {
    if (!h.valid) {
        hav.consecutive_valid = 0;
        if (h.quota > 0 && hav.max_jobs_per_day > h.quota) --hav.max_jobs_per_day;
        return;
    }
    if (hav.max_jobs_per_day < std::numeric_limits<int>::max()) ++hav.max_jobs_per_day;
    if (h.trust) ++hav.consecutive_valid;
    if (h.turnaround >= 0 && !h.outlier) add_sample(hav.turnaround, h.turnaround, kHostVersionRule);
    if (h.et >= 0) add_sample(hav.et, h.et, kHostVersionRule);
    if (h.pfc >= 0) add_sample(hav.pfc_n, hav.pfc_avg, h.pfc, kHostVersionRule);
}

/// host.avg_turnaround with one more sample, s.
inline double blended_turnaround(double average, double sample) {
    return average == 0 ? sample : 0.7 * average + 0.3 * sample;
}

// The decisions behind CatalogueStore, apart from SQL: the MySQL store and the fake of the tests share them.

/// Client versions are major*10000 + minor*100 + release; older rows hold major*100 + minor.
int core_version_in_full(int version);

/// Upstream's choice among the versions that are not deprecated in the database: of each app, platform and plan class
/// the newest; where app.min_version is set also the older ones from min_version on, flagged `deprecated`: they serve
/// jobs that are pinned to a version number and nothing else. Of apps with homogeneous_app_version all that was not
/// chosen so, flagged likewise: workunits stay committed to the version that their first result ran with. Versions of
/// apps or platforms not in `tables` are dropped. In order of id.
std::vector<AppVersion> usable_versions(std::vector<AppVersion> versions, const ProjectTables& tables);

/// Position of a percentile in an ascending list of n > 0 values.
std::int64_t percentile_index(std::int64_t n, int percent);
/// Fewer hosts than this: upstream's fixed figures instead of statistics.
inline constexpr std::int64_t kMinHostsForPerf = 10;

struct CreditScales {
    std::vector<AppVersion> versions;  ///< with a new pfc_scale
    std::vector<App> apps;             ///< with a new min_avg_pfc
};
/// Upstream's normalisation of claimed credit: the mean claim of an app's versions, weighted by samples, is the
/// measure; a version's scale makes its mean claim equal to it. Only versions with more than 100 samples count. CPU
/// and GPU both measured: the lower of the two means. Only CPU, at least two versions: their mean. Only GPU: a tenth
/// of theirs (GPU peak speed overstates what an app gets). Otherwise the app keeps what it has.
/// Only rows whose value changes by more than rounding are in the answer.
CreditScales new_credit_scales(const std::vector<App>& apps, const std::vector<AppVersion>& versions,
                               const ResourceOf& resource);

}  // namespace sluice
