// SPDX-License-Identifier: LGPL-3.0-or-later
// Seed 003 (job size matching): the sentences about what the scheduler does.
#include "tests/support/match_world.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;

struct Seed003 : testing::Test {
    MatchWorld w;
    Seed003() {
        w.params.size_classes = true;
        App& app = w.app(1);
        app.n_size_classes = 3;
        w.tables.size_quantiles[1] = {1e9, 1e10};
    }
    void one_of_each() {
        for (int c = 0; c < 3; ++c) w.pool.add(a_job(c).size_class(c));
    }
    HostAppVersion& measured(double flops, Id version = 11) {
        HostAppVersion& v = w.host.versions.emplace_back();
        v.app_version_id = version;
        v.et = {20, 1 / flops, 0, 0};
        return v;
    }
};

TEST_F(Seed003, ClassIJobsGoToTheIthQuantile) {
    const double speeds[] = {5e8, 5e9, 5e10};
    for (int c = 0; c < 3; ++c) {
        MatchWorld m;
        m.params = w.params;
        m.tables = w.tables;
        m.host = a_host().speed(speeds[c]);
        for (int i = 0; i < 3; ++i) m.pool.add(a_job(i).size_class(i));
        EXPECT_THAT(m.sent(), ElementsAre(c));
    }
}

TEST_F(Seed003, EffectiveSpeedIsSpeedTimesAvailability) {
    w.host = a_host().speed(5e9).availability(0.15);
    one_of_each();
    EXPECT_THAT(w.sent(), ElementsAre(0));
}

TEST_F(Seed003, SpeedIsMeasuredNotPromised) {
    w.host = a_host().speed(5e9);
    measured(5e10);
    one_of_each();
    EXPECT_THAT(w.sent(), ElementsAre(2));
    EXPECT_FALSE(w.trace.of(2)->size_is_guess);
}

TEST_F(Seed003, WithoutHistoryTheBenchmarkGivesTheClass) {
    w.host = a_host().speed(5e9);
    one_of_each();
    EXPECT_THAT(w.sent(), ElementsAre(1));
    EXPECT_EQ(w.trace.of(1)->host_size_class, 1);
    EXPECT_TRUE(w.trace.of(1)->size_is_guess);
}

TEST_F(Seed003, MultiSizeAndPlainAppsLiveTogether) {
    w.app(2);
    w.pool.add(a_job(1).app(2));
    w.pool.add(a_job(2).size_class(2));
    w.host = a_host().speed(5e8);
    EXPECT_THAT(w.sent(), ElementsAre(1)) << "rather another app's job than one of a non-optimal size";
}

TEST_F(Seed003, SmallerIsBetterThanLarger) {
    w.host = a_host().speed(5e9);
    w.pool.add(a_job(1).size_class(2));
    w.pool.add(a_job(2).size_class(0));
    EXPECT_THAT(w.sent(), ElementsAre(2));
}

TEST_F(Seed003, ALargerJobIsBetterThanNone) {
    w.host = a_host().speed(5e8);
    w.pool.add(a_job(1).size_class(2));
    EXPECT_THAT(w.sent(), ElementsAre(1));
}

TEST_F(Seed003, EachResourceHasItsPassAndClass) {
    w.host = a_host().speed(5e8).nvidia(1, 1e14);
    w.tables.versions.push_back(a_version(12, 1, "cuda_fermi"));
    measured(5e10, 12);
    one_of_each();
    w.want(ProcType::kCpu, 1, 1).want(ProcType::kNvidia, 1, 1);
    const MatchResult r = w.match();
    ASSERT_EQ(r.jobs.size(), 2u);
    EXPECT_EQ(r.jobs[0].version.usage.proc_type, ProcType::kNvidia) << "GPUs first";
    EXPECT_EQ(r.jobs[0].job.size_class, 2);
    EXPECT_EQ(r.jobs[1].job.size_class, 0);
}

TEST_F(Seed003, TheBestVersionPerAppDecidesTheClass) {
    w.host = a_host().speed(5e8).cpus(8);
    w.tables.versions.push_back(a_version(12, 1, "mt"));
    one_of_each();
    EXPECT_THAT(w.sent(), ElementsAre(1)) << "8 threads of 0.5 GFLOPS";
}

TEST_F(Seed003, TheListHoldsJobsWithAnAvailableVersion) {
    w.app(2);
    w.tables.versions.back().platformid = 3;  // Windows only
    w.pool.add(a_job(1).app(2).priority(1000));
    w.pool.add(a_job(2).size_class(1));
    EXPECT_THAT(w.sent(), ElementsAre(2));
    EXPECT_EQ(w.trace.of(1)->fate, Reason::kNoAppVersion);
}

TEST_F(Seed003, JobsGoneFromTheArrayAreSkipped) {
    w.pool.add(a_job(1).size_class(0));
    w.pool.add(a_job(2).size_class(0));
    w.pool.lost = {1};
    EXPECT_THAT(w.sent(), ElementsAre(2));
    EXPECT_EQ(w.match().stats.claims_lost, 1u);
}

TEST_F(Seed003, TheLoopEndsWhenTheRequestIsSatisfied) {
    for (int i = 1; i <= 50; ++i) w.pool.add(a_job(i).size_class(0).flops(1e11));
    w.want(ProcType::kCpu, 0, 3);
    EXPECT_EQ(w.match().jobs.size(), 3u);
}

TEST_F(Seed003, LoopSendsNothingWhenDiskIsUsedUp) {
    w.host = a_host().disk(5);
    for (int i = 1; i <= 50; ++i) w.pool.add(a_job(i).size_class(0).disk(2));
    w.want(ProcType::kCpu, 1e9, 10);
    EXPECT_EQ(w.match().jobs.size(), 2u);
}

TEST_F(Seed003, MoreClassesThanUpstreamsTen) {
    w.app(1).n_size_classes = 40;
    std::vector<double>& q = w.tables.size_quantiles[1];
    q.clear();
    for (int i = 1; i < 40; ++i) q.push_back(i * 1e8);
    w.host = a_host().speed(3.55e9);
    for (int i = 0; i < 40; ++i) w.pool.add(a_job(100 + i).size_class(i));
    EXPECT_THAT(w.sent(), ElementsAre(135));
}

TEST_F(Seed003, WithoutACensusNothingElseChanges) {
    w.tables.size_quantiles.clear();
    w.pool.add(a_job(1).size_class(2));
    EXPECT_THAT(w.sent(), ElementsAre(1));
    EXPECT_EQ(w.trace.of(1)->host_size_class, -1);
}

TEST_F(Seed003, Level1AnOldJobOutweighsANewOne) {
    w.params.compat_level = 1;
    w.pool.add(a_job(1).size_class(0).created(static_cast<int>(w.now) - 60));
    w.pool.add(a_job(2).size_class(0).created(static_cast<int>(w.now) - 6 * 86400));
    EXPECT_THAT(w.sent(), ElementsAre(2));
}

// The seed leaves starvation open: jobs that are passed over are counted, a sample a scan.
TEST_F(Seed003, JobsPassedOverAreCounted) {
    for (int i = 0; i < 400; ++i) w.pool.add(a_job(i).ram(1e12));
    w.match();
    int noted = 0;
    for (const auto& s : w.pool.slots) noted += static_cast<int>(s.passed_over);
    EXPECT_EQ(noted, Matcher::kMaxPassedOverNotes);
    EXPECT_EQ(w.pool.slots[0].infeasible, 0u) << "the score's own count is another one";
}

// Rotation goes by it, too: what is known late counts as well, but neither what is sent nor what no host may have.
TEST_F(Seed003, OnlyFeasibleJobsAreNotCounted) {
    w.params.one_result_per_host_per_wu = true;
    w.host = a_host().speed(1e9);
    w.pool.add(a_job(1).flops(1e15).delay_bound(3600));
    w.pool.add(a_job(2));
    w.facts.at(2).results_of_host = 1;
    w.pool.add(a_job(3)), w.pool.add(a_job(4));
    w.facts.at(4).found = false;
    w.pool.add(a_job(5));
    w.want(ProcType::kCpu, 1e6, 4);
    ASSERT_EQ(w.match().jobs.size(), 2u);
    EXPECT_EQ(w.pool.slots[0].passed_over, 1u) << "eleven days of work, an hour of time";
    EXPECT_EQ(w.pool.slots[1].passed_over, 1u) << "the host has had an instance of it";
    for (const std::size_t i : {2u, 3u, 4u}) EXPECT_EQ(w.pool.slots[i].passed_over, 0u) << i;
}

}  // namespace
}  // namespace sluice::test
