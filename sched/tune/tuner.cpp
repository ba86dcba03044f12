// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/tune/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "sched/explain/dry_run.h"
#include "sluice/base/error.h"

namespace sluice {
namespace {

/// A job on one kind of resource.
using JobKey = std::pair<Id, ProcType>;

struct JobRank {
    double band = 0;  ///< of the order of shares; 0 without one
    double score = 0;
};

/// What a full scan finds for one request, by which others are judged: ranks among the candidates are those of all.
struct FullScan {
    Search search = Search::kNotAsked;
    std::map<JobKey, JobRank> candidates;
    std::vector<JobKey> sent;
    std::optional<JobRank> mean_worth(const std::vector<JobKey>& jobs) const;
};

std::optional<JobRank> FullScan::mean_worth(const std::vector<JobKey>& jobs) const {
    JobRank sum;
    int n = 0;
    for (const JobKey& job : jobs) {
        const auto at = candidates.find(job);
        if (at == candidates.end()) continue;
        sum.band += at->second.band, sum.score += at->second.score;
        ++n;
    }
    return n > 0 ? std::optional(JobRank{sum.band / n, sum.score / n}) : std::nullopt;
}

/// Adds up the decisions of one point.
struct Sum {
    explicit Sum(int n, int m) { point.min_slots = n, point.max_slots = m; }
    void add(const DryDecision& o, const FullScan& full);
    TunePoint done();

    TunePoint point;
    JobRank lost;
    int compared = 0;
    std::vector<double> ms;
};

void Sum::add(const DryDecision& o, const FullScan& full) {
    ++point.decisions;
    point.looked_at += o.stats.slots_scanned;
    point.locked += o.stats.slots_locked;
    point.jobs += static_cast<double>(o.jobs.size());
    point.look_ups += o.stats.fact_loads;
    point.over_limit += o.stats.locked_over_limit ? 1 : 0;
    ms.push_back(o.seconds * 1000);
    if (o.jobs.empty()) {
        ++point.empty;
        point.missed += full.sent.empty() ? 0 : 1;
        return;
    }
    std::vector<JobKey> sent;
    for (const DryDecision::Job& job : o.jobs) sent.emplace_back(job.result, job.resource);
    const auto best = full.mean_worth(full.sent), got = full.mean_worth(sent);
    if (!best || !got) return;
    lost.score += best->score - got->score;
    lost.band += got->band - best->band;
    ++compared;
}

TunePoint Sum::done() {
    const double n = std::max(point.decisions, 1);
    for (double* mean : {&point.looked_at, &point.locked, &point.jobs, &point.look_ups}) *mean /= n;
    point.score_lost = compared > 0 ? lost.score / compared : 0;
    point.bands_lost = compared > 0 ? lost.band / compared : 0;
    for (const double t : ms) point.ms_mean += t / n;
    if (!ms.empty()) {
        const auto middle = ms.begin() + static_cast<std::ptrdiff_t>(ms.size() / 2);
        std::nth_element(ms.begin(), middle, ms.end());
        point.ms_median = *middle;
    }
    return point;
}

class Tuner {
  public:
    Tuner(LiveProject& project, const TuneRequests& requests, const TuneGrid& grid)
        : project_(project),
          requests_(requests),
          grid_(grid),
          params_(project.params),
          pool_(*project.array, {}),
          of_database_(project.stores.stores()),
          accounts_(of_database_.accounts, requests.made_up),
          states_(of_database_.host_states, requests.made_up),
          results_(of_database_.results, KnownResult{}),
          stores_{accounts_, states_, results_, of_database_.assignments, of_database_.unit_of_work} {
        if (project.config.reliable_on_priority != project.live.reliable_on_priority)
            pool_.mark_reliable(project.config.reliable_on_priority);
    }
    TuneReport run();

  private:
    RpcServices services(Rng& rng) {
        RpcServices s{project_.config, project_.files, params_,          *project_.tables,
                      pool_,           stores_,        Env{clock_, rng}, request_limits(project_.config)};
        s.ignore_seqno = true;
        return s;
    }
    TunedWeights try_weights(const Weights& weights, TuneReport& report);
    FullScan full_scan(const SchedulerRequest& request, TunedWeights& tuned, int& sent);
    TunePoint try_point(int n, int m, const std::vector<FullScan>& full);

    LiveProject& project_;
    const TuneRequests& requests_;
    const TuneGrid& grid_;
    MatchParams params_;
    DryJobPool pool_;
    RpcStores of_database_;
    AccountsWithMadeUp accounts_;
    StatesWithMadeUp states_;
    AsUnsentStore results_;
    RpcStores stores_;
    SystemClock clock_;
};

FullScan Tuner::full_scan(const SchedulerRequest& request, TunedWeights& tuned, int& sent) {
    const auto rng = make_seeded_rng(grid_.seed);
    RpcServices s = services(*rng);
    pool_.hold_for(0);
    const Explanation e = dry_run(s, pool_, request);
    FullScan full;
    full.search = e.search;
    for (const JudgedJob& job : e.jobs) {
        if (job.terms.empty()) continue;
        const JobKey key{job.job.result_id, job.resource};
        full.candidates[key] = {static_cast<double>(job.share_band.value_or(0)), job.score};
        if (job.fate != Reason::kFeasible) continue;
        full.sent.push_back(key);
        ++sent;
        tuned.score += job.score;
        for (const auto& term : job.terms) tuned.values[term.name] += term.value;
    }
    return full;
}

TunePoint Tuner::try_point(int n, int m, const std::vector<FullScan>& full) {
    params_.mm_min_slots = n;
    params_.mm_max_slots = m;
    Sum sum(n, m);
    pool_.release_all();
    pool_.hold_for(0);
    for (int round = 0; round < grid_.repeat; ++round) {
        for (std::size_t i = 0; i < full.size(); ++i) {
            if (full[i].search != Search::kDone) continue;
            // The same start for the same request at every point.
            const auto rng = make_seeded_rng(grid_.seed + 7919 * i + 1'000'003 * static_cast<std::uint64_t>(round + 1));
            RpcServices s = services(*rng);
            sum.add(dry_decision(s, requests_.requests[i]), full[i]);
            pool_.hold_for(grid_.at_once - 1);
        }
    }
    return sum.done();
}

TunedWeights Tuner::try_weights(const Weights& weights, TuneReport& report) {
    TunedWeights tuned;
    tuned.weights = weights;
    params_ = project_.params;
    for (const auto& [name, value] : weights) params_.score_weights[name] = value;
    params_.mm_min_slots = params_.mm_max_slots = 0;
    std::vector<FullScan> full;
    int sent = 0;
    for (const SchedulerRequest& request : requests_.requests) full.push_back(full_scan(request, tuned, sent));
    tuned.score /= std::max(sent, 1);
    for (auto& [name, value] : tuned.values) value /= std::max(sent, 1);
    report.not_searched.clear();
    for (const FullScan& f : full)
        if (f.search != Search::kDone) ++report.not_searched[f.search];
    std::set<std::pair<int, int>> tried{{0, 0}};
    tuned.points.push_back(try_point(0, 0, full));
    for (const int m : grid_.max_slots)
        for (const int n : grid_.min_slots)
            if (tried.emplace(n, m).second) tuned.points.push_back(try_point(n, m, full));
    return tuned;
}

TuneReport Tuner::run() {
    TuneReport report;
    report.slots = pool_.slots_of_array();
    report.jobs = pool_.jobs_in_array();
    report.locked = pool_.locked();
    report.requests = static_cast<int>(requests_.requests.size());
    report.at_once = grid_.at_once;
    report.limit = params_.mm_max_locked < 0 ? "a tenth of the array" : std::to_string(params_.mm_max_locked);
    report.notes = requests_.notes;
    for (const auto& problems : {project_.read.errors, project_.files.problems})
        report.notes.insert(report.notes.end(), problems.begin(), problems.end());
    for (const Weights& weights : grid_.weights) report.weights.push_back(try_weights(weights, report));
    for (const auto& [search, count] : report.not_searched)
        if (count == report.requests)
            throw Error(fmt::format("no request gets as far as the array: {}. {}", search_info(search).name,
                                    search_info(search).advice));
    return report;
}

}  // namespace

TuneReport tune(LiveProject& project, const TuneRequests& requests, const TuneGrid& grid) {
    return Tuner(project, requests, grid).run();
}

}  // namespace sluice
