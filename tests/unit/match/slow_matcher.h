// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The oracle: the same decision, made in the most obvious way. It looks at every slot for every resource, sorts
// everything, knows all facts beforehand, and remembers nothing between jobs. It shares with the matcher only the
// single policies (their own tests cover them) and the order of passes.
#include <algorithm>

#include "sched/match/app_versions.h"
#include "sched/match/deadline.h"
#include "sched/match/policies.h"
#include "sched/match/scan.h"
#include "sched/match/walk.h"
#include "tests/support/match_world.h"

namespace sluice::test {

class SlowMatcher {
  public:
    explicit SlowMatcher(MatchWorld& world) : w_(world), x_(world.context()) {}

    struct Sent {
        Id result;
        Id version;
        double score, delay_bound;
        bool operator==(const Sent&) const = default;
    };

    /// `ends`: how many slots had been looked at when a choice was made among those that were new, for each choice;
    /// empty: one choice among all.
    std::vector<Sent> match(std::vector<std::uint32_t> ends = {}) {
        const std::uint32_t size = w_.pool.size();
        if (size == 0) return {};
        if (ends.empty()) ends = {size};
        match::ActivePolicies policies(x_, true);
        match::AppTable apps(x_, policies);
        match::Picked picked = match::initial_picked(x_);
        const auto start = static_cast<std::uint32_t>(x_.rng.below(size));
        std::vector<Sent> sent;
        std::vector<bool> used(size);
        Range range{start, 0, 0};
        for (const std::uint32_t end : ends) {
            range = {start, range.end, end};
            const auto distinct = distinct_priorities(policies, apps, picked, range);
            for (int t = kProcTypes - 1; t >= 0; --t) {
                const auto type = static_cast<ProcType>(t);
                if (!picked.wants(type) && (range.begin > 0 || !wanted_at_first(type))) continue;
                std::vector<Job> jobs = candidates(policies, apps, type, range, distinct);
                std::stable_sort(jobs.begin(), jobs.end(),
                                 [](const Job& a, const Job& b) { return a.score > b.score; });
                for (const Job& j : jobs) try_job(j, type, picked, used, sent, apps);
            }
        }
        return sent;
    }

  private:
    struct Job {
        JobSummary job;
        SlotRef ref;
        double score;
    };
    struct Range {
        std::uint32_t start, begin, end;  ///< from start + begin to before start + end
    };

    bool wanted_at_first(ProcType type) const {
        const auto t = static_cast<std::size_t>(type);
        return x_.wanted.resource_specific ? x_.wanted.seconds[t] > 0 || x_.wanted.instances[t] > 0
                                           : x_.wanted.total_seconds > 0;
    }

    // A version chooser of its own for every question: nothing one job found can reach another.
    static bool feasible_here(const MatchContext& x, const JobPool& pool, const match::ActivePolicies& policies,
                              const match::AppFacts& app, const JobSummary& job, const SlotRef& ref, ProcType type,
                              double* points) {
        match::VersionChooser chooser(x, pool);
        const auto pick = chooser.choose(app, job, ref, type);
        match::Candidate c{job, ref, app, nullptr, {}, 0, 0, 0};
        complete(x, pool, c);
        if (policies.fast(match::Scope::kApp, x, c).refused() || policies.fast(match::Scope::kJob, x, c).refused() ||
            !pick.offer)
            return false;
        c.offer = pick.offer;
        if (policies.fast(match::Scope::kVersion, x, c).refused() ||
            policies.fast(match::Scope::kJobLast, x, c).refused())
            return false;
        *points = 0;
        for (const auto& term : policies.terms())
            if (!match::is_ranked(*term.row, x.params.compat_level)) *points += term.weight * term.row->value(x, c);
        return true;
    }

    static void complete(const MatchContext& x, const JobPool&, match::Candidate& c) {
        if (x.params.keyword_sched) c.keywords = {c.job.keywords.data(), c.job.n_keywords};
        if (c.app.app->locality_scheduling != 1 || x.host.files.empty()) return;
        for (std::size_t i = 0; i < c.job.n_input_files; ++i) {
            const auto& f = c.job.input_files[i];
            c.input_bytes += f.nbytes;
            if (x.host.files.contains(f.name_hash)) {
                ++c.local_files;
                c.local_bytes += f.nbytes;
            }
        }
    }

    std::vector<std::int32_t> distinct_priorities(const match::ActivePolicies& policies, const match::AppTable& apps,
                                                  const match::Picked& picked, const Range& range) {
        std::set<std::int32_t> all;
        for (int t = 0; t < kProcTypes; ++t) {
            if (!picked.wants(static_cast<ProcType>(t))) continue;
            for (const Job& j : candidates(policies, apps, static_cast<ProcType>(t), range, {}))
                all.insert(j.job.priority);
        }
        return {all.begin(), all.end()};
    }

    static double rank(const std::vector<std::int32_t>& distinct, std::int32_t p) {
        const auto let = [](std::int32_t v) { return v < -100000000; };
        std::vector<std::int32_t> same;
        for (std::int32_t v : distinct)
            if (let(v) == let(p)) same.push_back(v);
        if (same.size() < 2) return 0;
        const auto below = std::count_if(same.begin(), same.end(), [&](std::int32_t v) { return v < p; });
        return -1 + 2 * static_cast<double>(below) / static_cast<double>(same.size() - 1);
    }

    std::vector<Job> candidates(const match::ActivePolicies& policies, const match::AppTable& apps, ProcType type,
                                const Range& range, const std::vector<std::int32_t>& distinct) {
        std::vector<Job> jobs;
        const std::uint32_t size = w_.pool.size();
        const auto m = static_cast<std::uint32_t>(x_.params.mm_max_slots);
        for (std::uint32_t n = range.begin; n < std::min(range.end, m > 0 ? std::min(m, size) : size); ++n) {
            Job j{};
            if (w_.pool.read((range.start + n) % size, j.job, j.ref) != SlotState::kPresent) continue;
            const match::AppFacts* app = apps.find(j.job.app_id);
            if (!app || !feasible_here(x_, w_.pool, policies, *app, j.job, j.ref, type, &j.score)) continue;
            const bool let = j.job.priority < -100000000;
            const double weight = let ? policies.let_rank_weight() : policies.priority_rank_weight();
            if (weight != 0) j.score += weight * rank(distinct, j.job.priority);
            jobs.push_back(j);
        }
        return jobs;
    }

    void try_job(const Job& j, ProcType type, match::Picked& picked, std::vector<bool>& used, std::vector<Sent>& sent,
                 const match::AppTable& apps) {
        if (used[j.ref.index] || !picked.wants(type)) return;
        match::VersionChooser& chooser = *choosers_.emplace_back(std::make_unique<match::VersionChooser>(x_, w_.pool));
        const match::AppFacts& app = *apps.find(j.job.app_id);
        const auto pick = chooser.choose(app, j.job, j.ref, type);
        const match::Candidate c{j.job, j.ref, app, pick.offer, {}, 0, 0, 0};
        if (match::ActivePolicies::set(x_, c, picked).refused()) return;
        Verdict v;
        if (match::slow_refusal(x_, c, w_.facts.of(j.job), v)) return;
        if (w_.pool.lost.contains(j.job.result_id)) return;
        const double bound = match::attainable_deadline(x_, c, picked);
        used[j.ref.index] = true;
        sent.push_back({j.job.result_id, pick.offer->choice.app_version_id, j.score, bound});
        picked.add(x_, c, bound);
    }

    MatchWorld& w_;
    MatchContext x_;
    std::vector<std::unique_ptr<match::VersionChooser>> choosers_;
};

}  // namespace sluice::test
