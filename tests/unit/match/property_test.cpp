// SPDX-License-Identifier: LGPL-3.0-or-later
// The matcher against a slow, obvious one, on random pools, hosts, requests and parameters: the same jobs, in the same
// order, with the same versions, scores and deadlines. And: raising a weight never ranks a job that the term likes
// lower.
#include <cmath>

#include "tests/unit/match/slow_matcher.h"

namespace sluice::test {
namespace {

class RandomWorld {
  public:
    explicit RandomWorld(std::uint64_t seed) : rng_(make_seeded_rng(seed)) {}

    MatchWorld make() {
        MatchWorld w;
        w.seed = rng_->next();
        apps(w);
        params(w);
        host(w);
        jobs(w);
        return w;
    }

  private:
    int below(int n) { return static_cast<int>(rng_->below(static_cast<std::uint64_t>(n))); }
    bool one_in(int n) { return below(n) == 0; }
    double between(double a, double b) { return a + (b - a) * rng_->uniform(); }

    void apps(MatchWorld& w) {
        const int n = 1 + below(4);
        for (int a = 1; a <= n; ++a) {
            App& app = w.app(a);
            app.beta = one_in(6);
            app.non_cpu_intensive = one_in(12);
            app.weight = one_in(8) ? -1 : 1;
            app.homogeneous_redundancy = static_cast<HrType>(one_in(3) ? below(3) : 0);
            app.homogeneous_app_version = one_in(5);
            app.locality_scheduling = below(2);
            app.n_size_classes = below(4);
            if (app.n_size_classes > 1 && !one_in(4))
                for (int q = 1; q < app.n_size_classes; ++q) w.tables.size_quantiles[a].push_back(q * 1e9);
            if (one_in(2)) w.tables.versions.push_back(a_version(a * 10 + 2, a, "mt"));
            if (one_in(2)) w.tables.versions.push_back(a_version(a * 10 + 3, a, "cuda_fermi"));
            if (one_in(3)) w.tables.versions.push_back(a_version(a * 10 + 4, a, "", 1, 101));
            if (one_in(3)) w.tables.versions.push_back(a_version(a * 10 + 5, a, "", 2, 90));
            for (AppVersion& v : w.tables.versions)
                if (v.appid == a && one_in(8)) v.deprecated = true;
        }
    }

    JobLimit limit() { return {one_in(2) ? 0 : 1 + below(6), one_in(3)}; }

    void params(MatchWorld& w) {
        MatchParams& p = w.params;
        p.compat_level = below(2);
        p.mm_max_slots = one_in(4) ? 1 + below(60) : 0;
        p.mm_max_locked = one_in(2) ? 3 : 0;
        p.batch_accel = one_in(3);
        p.size_classes = one_in(2);
        p.keyword_sched = one_in(3);
        p.one_result_per_user_per_wu = one_in(3);
        p.one_result_per_host_per_wu = one_in(3);
        p.user_filter = one_in(8);
        p.workload_sim = one_in(3);
        p.ignore_delay_bound = one_in(8);
        p.prefer_primary_platform = one_in(4);
        p.daily_result_quota = one_in(2) ? 5 : 0;
        p.max_wus_to_send = below(5);
        p.reliable_reduced_delay_bound = one_in(2) ? 0.5 : 0;
        p.ltt_reserve_timeout = one_in(2) ? 5000 : 0;
        if (one_in(3)) p.max_jobs_in_progress.project = {limit(), limit(), limit()};
        if (one_in(3)) p.max_jobs_in_progress.apps["app1"] = {limit(), limit(), limit()};
        for (const char* term : {"size_class", "result_priority", "hardness", "keyword", "batch_let"})
            if (one_in(5)) p.score_weights[term] = below(7) - 2;
    }

    void host(MatchWorld& w) {
        a_host host;
        host.cpus(1 + below(8))
            .speed(between(5e8, 4e9))
            .ram(between(0.5, 8) * kGiB)
            .disk(one_in(3) ? between(0, 5e8) : 1e11);
        host.availability(between(0.1, 1));
        if (one_in(2)) host.nvidia(1 + below(3));
        if (one_in(3)) host.low_turnaround();
        if (one_in(4)) host.hr(0, 0);
        if (one_in(4)) host.platforms({"x86_64-pc-linux-gnu", "i686-pc-linux-gnu"});
        if (one_in(8)) host.credit(0);
        for (int f = below(4); f > 0; --f) host.file("f" + std::to_string(f), between(1, 1e6));
        for (int i = below(4); i > 0; --i) {
            HostAppVersion v;
            v.app_version_id = (1 + below(4)) * 10 + 1 + below(3);
            v.max_jobs_per_day = below(6);
            v.n_jobs_today = below(6);
            v.consecutive_valid = below(20);
            v.pfc_n = below(30);
            v.pfc_avg = 1;
            v.et = {static_cast<double>(below(30)), between(1e-10, 2e-9), 0, 0};
            v.turnaround.n = below(20);
            host.history(v);
        }
        if (one_in(2)) host.workload_known().work_buf_min(between(0, 5000));
        for (int i = below(5); i > 0; --i)
            host.holds({"r" + std::to_string(i), one_in(2) ? 1 : 2, one_in(4) ? ProcType::kNvidia : ProcType::kCpu,
                        w.now + between(-1e4, 1e5), between(0, 3e4), 1, one_in(2) ? 0.5 : 1, between(0, 1e9),
                        !one_in(4)});
        w.host = host;
        user(w);
    }

    void user(MatchWorld& w) {
        if (one_in(4)) w.user.selected_apps = {1};
        w.user.allow_non_preferred_apps = one_in(2);
        w.user.allow_beta_work = one_in(2);
        w.user.max_jobs_in_progress = one_in(5) ? 3 + below(8) : 0;
        w.user.dont_use[1] = one_in(6);
        w.user.keywords_yes = {1, 2};
        if (one_in(2)) w.user.keywords_no = {4};
        w.want(ProcType::kCpu, one_in(4) ? 0 : between(0, 2e5), below(6));
        if (one_in(2)) w.want(ProcType::kNvidia, between(0, 1e5), below(3));
        if (one_in(6)) {
            w.wanted = {};
            w.wanted.resource_specific = false;
            w.wanted.total_seconds = between(0, 1e5);
        }
        if (one_in(2)) w.wanted.estimated_delay[0] = between(0, 5e4);
    }

    void jobs(MatchWorld& w) {
        const int n = below(90);
        const bool lets = one_in(4);
        for (int i = 1; i <= n; ++i) {
            if (one_in(10)) {
                w.pool.add_empty();
                continue;
            }
            if (one_in(15)) {
                w.pool.add_locked();
                continue;
            }
            a_job j(i);
            j.app(1 + below(5))
                .workunit(100 + below(2 * n))
                .flops(std::pow(10, between(11, 14)))
                .delay_bound(1000 + below(100000));
            j.priority(lets && one_in(2) ? -1800000000 + below(50) : below(12)).wu_priority(one_in(4) ? 1 : 0);
            j.ram(one_in(10) ? 3.5e9 : between(1e7, 3e9)).disk(between(0, 2e8)).batch(one_in(6) ? 5 + below(2) : 0);
            j.size_class(below(4) - 1).time_added(static_cast<int>(w.now) - below(10000));
            if (one_in(4)) j.hr_class(one_in(2) ? w.host.hr_class_fine : 385);
            if (one_in(6)) j.committed_version(10 + 1 + below(3));
            if (one_in(10)) j.version_num(100 + below(2));
            if (one_in(8)) j.need_reliable();
            if (one_in(3)) j.keywords({1 + below(5), 1 + below(5)});
            for (int f = below(3); f > 0; --f) j.input_file("f" + std::to_string(1 + below(6)), between(1, 1e6));
            w.pool.add(j).infeasible = one_in(5) ? 1 : 0;
            if (one_in(12)) w.pool.lost.insert(i);
            if (one_in(6)) facts(w, i);
        }
    }

    void facts(MatchWorld& w, Id result) {
        WorkunitFacts& f = w.facts.at(result);
        switch (below(7)) {
            case 0: f.found = false; break;
            case 1: f.server_state = ServerState::kInProgress; break;
            case 2: f.error_mask = kWuCancelled; break;
            case 3: f.canonical_resultid = 9; break;
            case 4: f.hr_class = 385; break;
            case 5: f.app_version_id = 99; break;
            default: f.results_of_user = f.results_of_host = 1;
        }
    }

    std::unique_ptr<Rng> rng_;
};

constexpr int kCases = 12000;

TEST(MatcherProperty, ChoosesAsTheSlowMatcher) {
    int sent = 0, with_jobs = 0;
    for (int seed = 1; seed <= kCases; ++seed) {
        MatchWorld w = RandomWorld(static_cast<std::uint64_t>(seed)).make();
        w.params.version_select_random_factor = 0;  // the oracle asks for versions more often than the matcher
        const std::vector<SlowMatcher::Sent> expected = SlowMatcher(w).match();
        const MatchResult result = w.match();
        std::vector<SlowMatcher::Sent> got;
        for (const Chosen& c : result.jobs)
            got.push_back({c.job.result_id, c.version.app_version_id, c.score, c.delay_bound});
        ASSERT_EQ(got.size(), expected.size()) << "seed " << seed;
        for (std::size_t i = 0; i < got.size(); ++i) {
            ASSERT_EQ(got[i].result, expected[i].result) << "seed " << seed << " position " << i;
            ASSERT_EQ(got[i].version, expected[i].version) << "seed " << seed << " position " << i;
            ASSERT_NEAR(got[i].score, expected[i].score, 1e-6 * (1 + std::abs(expected[i].score))) << "seed " << seed;
            ASSERT_EQ(got[i].delay_bound, expected[i].delay_bound) << "seed " << seed << " position " << i;
        }
        ASSERT_LE(w.facts.loads, 2) << "seed " << seed;
        ASSERT_EQ(w.pool.claimed.size(), got.size()) << "seed " << seed;
        sent += static_cast<int>(got.size());
        with_jobs += got.empty() ? 0 : 1;
    }
    // The worlds must not be so hostile that the comparison is between nothing and nothing.
    EXPECT_GT(with_jobs, kCases / 3);
    EXPECT_GT(sent, kCases);
}

/// The pool of a world, which notes how many slots had been looked at when claims were made.
class WatchedPool final : public JobPool {
  public:
    explicit WatchedPool(JobPool& pool) : pool_(pool) {}
    std::uint32_t size() const override { return pool_.size(); }
    SlotState read(std::uint32_t i, JobSummary& job, SlotRef& ref) const override {
        seen_.insert(i);
        return pool_.read(i, job, ref);
    }
    bool claim(const SlotRef& ref) override {
        at_claims_.insert(static_cast<std::uint32_t>(seen_.size()));
        return pool_.claim(ref);
    }
    void release(const SlotRef& ref) override { pool_.release(ref); }
    void discard(const SlotRef& ref) override { pool_.discard(ref); }
    std::optional<std::string> workunit_xml(const SlotRef& ref) const override { return pool_.workunit_xml(ref); }
    std::string keywords(const SlotRef& ref) const override { return pool_.keywords(ref); }
    void note_infeasible(const SlotRef& ref) override { pool_.note_infeasible(ref); }
    void note_passed_over(const SlotRef& ref) override { pool_.note_passed_over(ref); }
    /// And where the scan ended.
    std::vector<std::uint32_t> ends() const {
        std::set<std::uint32_t> all = at_claims_;
        all.insert(static_cast<std::uint32_t>(seen_.size()));
        return {all.begin(), all.end()};
    }

  private:
    JobPool& pool_;
    mutable std::set<std::uint32_t> seen_;
    std::set<std::uint32_t> at_claims_;
};

// Where claims are lost the scan goes on, and each time the choice is that over the slots that are new.
TEST(MatcherProperty, LostClaimsContinueTheScan) {
    int went_on = 0, sent = 0;
    for (int seed = 1; seed <= 1500; ++seed) {
        const auto world = [&] {
            MatchWorld w = RandomWorld(static_cast<std::uint64_t>(seed) + 300000).make();
            w.params.version_select_random_factor = 0;
            w.params.mm_min_slots = 1 + seed % 15;
            for (const auto& slot : w.pool.slots)
                if (slot.job.result_id % 2 == seed % 2) w.pool.lost.insert(slot.job.result_id);
            return w;
        };
        MatchWorld w = world(), again = world();
        WatchedPool pool(w.pool);
        const MatchContext context = w.context();
        const MatchResult r = Matcher(context, pool, w.facts, nullptr).match();
        if (r.stats.slots_scanned == 0 || w.facts.loads >= Matcher::kMaxLoads) continue;  // the bound of statements
        const std::vector<std::uint32_t> ends = pool.ends();
        ASSERT_EQ(ends.back(), r.stats.slots_scanned) << "seed " << seed;
        const auto expected = SlowMatcher(again).match(ends);
        ASSERT_EQ(r.jobs.size(), expected.size()) << "seed " << seed;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            ASSERT_EQ(r.jobs[i].job.result_id, expected[i].result) << "seed " << seed << " position " << i;
            ASSERT_FALSE(w.pool.lost.contains(expected[i].result)) << "seed " << seed;
        }
        went_on += ends.size() > 1 ? 1 : 0;
        sent += static_cast<int>(expected.size());
    }
    EXPECT_GT(went_on, 60);
    EXPECT_GT(sent, 300);
}

// N: the choice is that over the slots seen; the scan ends early only when the request is satisfied or the reply full.
TEST(MatcherProperty, StoppingAtNIsChoosingAmongSlotsSeen) {
    int stopped_early = 0;
    for (int seed = 1; seed <= 3000; ++seed) {
        MatchWorld w = RandomWorld(static_cast<std::uint64_t>(seed) + 700000).make();
        w.params.version_select_random_factor = 0;
        w.params.mm_max_slots = 0;
        w.params.mm_min_slots = 1 + seed % 40;
        MatchWorld again = RandomWorld(static_cast<std::uint64_t>(seed) + 700000).make();
        const MatchResult r = w.match();
        if (r.stats.slots_scanned == 0 || r.stats.claims_lost > 0) continue;  // the test above
        again.params = w.params;
        again.params.mm_max_slots = static_cast<int>(r.stats.slots_scanned);
        const auto expected = SlowMatcher(again).match();
        ASSERT_EQ(r.jobs.size(), expected.size()) << "seed " << seed;
        for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(r.jobs[i].job.result_id, expected[i].result);
        ASSERT_GE(r.stats.slots_scanned,
                  std::min<std::uint32_t>(w.pool.size(), static_cast<std::uint32_t>(w.params.mm_min_slots)));
        stopped_early += r.stats.slots_scanned < w.pool.size() ? 1 : 0;
    }
    EXPECT_GT(stopped_early, 300);
}

// What is sent never breaks what the set checks promise.
TEST(MatcherProperty, KeepsLimits) {
    for (int seed = 1; seed <= 3000; ++seed) {
        MatchWorld w = RandomWorld(static_cast<std::uint64_t>(seed) + 500000).make();
        const MatchResult r = w.match();
        double disk = 0;
        std::set<std::uint32_t> slots;
        for (const Chosen& c : r.jobs) {
            disk += c.job.rsc_disk_bound;
            EXPECT_TRUE(slots.insert(c.ref.index).second) << "seed " << seed;
            EXPECT_LE(c.job.rsc_memory_bound, w.host.usable_ram) << "seed " << seed;
            EXPECT_FALSE(c.app->beta && !w.user.allow_beta_work) << "seed " << seed;
        }
        EXPECT_LE(disk, w.host.disk_available) << "seed " << seed;
    }
}

// Place of a result among the candidates of a pass, best first; -1 if it is none.
int place(const std::vector<TraceRows::Row>& rows, Id result, ProcType resource) {
    const TraceRows::Row* mine = nullptr;
    for (const auto& r : rows)
        if (r.result == result && r.resource == resource && !r.points.empty()) mine = &r;
    if (!mine) return -1;
    int better = 0;
    for (const auto& r : rows)
        if (r.resource == resource && !r.points.empty() && r.score > mine->score + 1e-9) ++better;
    return better;
}

TEST(MatcherProperty, RaisingAWeightNeverRanksItsJobLower) {
    int compared = 0;
    for (int seed = 1; seed <= 1500; ++seed) {
        for (const std::string_view term : {"size_class", "hardness", "keyword", "result_priority", "hr_committed"}) {
            MatchWorld before = RandomWorld(static_cast<std::uint64_t>(seed) + 900000).make();
            before.params.version_select_random_factor = 0;
            before.params.score_weights[std::string(term)] = 1;
            MatchWorld after = RandomWorld(static_cast<std::uint64_t>(seed) + 900000).make();
            after.params = before.params;
            after.params.score_weights[std::string(term)] = 3;
            before.match();
            after.match();
            // The job that the term likes best among the candidates of its pass.
            const TraceRows::Row* best = nullptr;
            for (const auto& r : before.trace.rows)
                if (!r.points.empty() && r.resource == ProcType::kCpu &&
                    (!best || r.values.at(std::string(term)) > best->values.at(std::string(term))))
                    best = &r;
            if (!best) continue;
            ++compared;
            EXPECT_LE(place(after.trace.rows, best->result, ProcType::kCpu),
                      place(before.trace.rows, best->result, ProcType::kCpu))
                << term << " seed " << seed;
        }
    }
    EXPECT_GT(compared, 1000);
}

}  // namespace
}  // namespace sluice::test
