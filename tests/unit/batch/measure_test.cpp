// SPDX-License-Identifier: LGPL-3.0-or-later
// How turnaround is measured (seed 004): upstream's rule at level 0, the seed's and ours at level 1.
#include "daemons/batches/turnaround_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sluice {
namespace {

constexpr std::int64_t kNow = 1'700'000'000;

Observation done(Id host, double turnaround, double ago = 0, std::int32_t version = 7) {
    static Id next = 0;
    Observation o;
    o.result = o.workunit = ++next;
    o.host = static_cast<std::uint32_t>(host);
    o.version = version;
    o.ended = static_cast<std::uint32_t>(kNow - ago);
    o.sent = static_cast<std::uint32_t>(kNow - ago - turnaround);
    o.kind = JobKind::kSuccess;
    return o;
}
Observation of_kind(JobKind kind, Id host, double age = 100, std::int32_t version = 7) {
    Observation o = done(host, age, 0, version);
    o.kind = kind;
    return o;
}
MeasuredBatch a_batch(int njobs = 0, Id app = 1) { return {1, app, njobs, 0}; }

StatsRules small_rules(int level) {
    StatsRules r = stats_rules(level);
    r.min_success = 1;
    r.min_success_frac = 0;
    r.min_jobs = 1;
    return r;
}

TEST(Observe, KindsByOutcome) {
    struct Case {
        ServerState state;
        Outcome outcome;
        ValidateState validate;
        int exit_status;
        JobKind kind;
    };
    using S = ServerState;
    using O = Outcome;
    using V = ValidateState;
    const Case cases[] = {
        {S::kInactive, O::kInit, V::kInit, 0, JobKind::kWaiting},
        {S::kUnsent, O::kInit, V::kInit, 0, JobKind::kWaiting},
        {S::kInProgress, O::kInit, V::kInit, 0, JobKind::kInProgress},
        {S::kOver, O::kSuccess, V::kInit, 0, JobKind::kSuccess},
        {S::kOver, O::kSuccess, V::kValid, 0, JobKind::kSuccess},
        {S::kOver, O::kSuccess, V::kInvalid, 0, JobKind::kInvalid},
        {S::kOver, O::kNoReply, V::kInit, 0, JobKind::kTimedOut},
        {S::kOver, O::kNoReply, V::kInvalid, kExitAbortedByProject, JobKind::kIgnored},
        {S::kOver, O::kClientError, V::kInvalid, 195, JobKind::kFailed},
        {S::kOver, O::kClientError, V::kInvalid, kExitAbortedByProject, JobKind::kIgnored},
        {S::kOver, O::kClientError, V::kInvalid, kExitUnstartedLate, JobKind::kIgnored},
        {S::kOver, O::kClientError, V::kInvalid, kExitAbortedViaGui, JobKind::kFailed},
        {S::kOver, O::kValidateError, V::kInvalid, 0, JobKind::kFailed},
        {S::kOver, O::kClientDetached, V::kInit, 0, JobKind::kFailed},
        {S::kOver, O::kCouldntSend, V::kInit, 0, JobKind::kIgnored},
        {S::kOver, O::kDidntNeed, V::kInit, 0, JobKind::kIgnored},
        {S::kOver, O::kInit, V::kInit, 0, JobKind::kIgnored},
    };
    for (const Case& c : cases) {
        ResultTimes r;
        r.server_state = c.state;
        r.outcome = c.outcome;
        r.validate_state = c.validate;
        r.exit_status = c.exit_status;
        EXPECT_EQ(observe(r).kind, c.kind) << static_cast<int>(c.state) << " " << static_cast<int>(c.outcome);
    }
}

TEST(Observe, TimesOutOfOrderAreTurnaroundOfZero) {
    ResultTimes r;
    r.server_state = ServerState::kOver;
    r.outcome = Outcome::kSuccess;
    r.sent_time = 2000;
    r.received_time = 1000;
    EXPECT_EQ(observe(r).turnaround(), 0);
}

TEST(Median, IsTheLowerMiddleElement) {
    std::mt19937 random(1);
    const StatsRules rules = small_rules(0);
    for (int round = 0; round < 300; ++round) {
        std::vector<Observation> all;
        std::vector<double> times;
        const int n = 1 + static_cast<int>(random() % 40);
        for (int i = 0; i < n; ++i) {
            const double t = 1 + static_cast<double>(random() % 9);  // many ties
            all.push_back(done(1, t));
            times.push_back(t);
            if (random() % 3 == 0) all.push_back(of_kind(JobKind::kTimedOut, 2));
        }
        std::shuffle(all.begin(), all.end(), random);
        std::sort(times.begin(), times.end());
        const BatchMeasure m = measure(all, a_batch(), rules);
        EXPECT_EQ(m.median, times[static_cast<std::size_t>(n) / 2]);
        EXPECT_EQ(m.success, n);
    }
}

TEST(Median, NeedsSuccesses) {
    StatsRules rules = stats_rules(0);
    EXPECT_EQ(rules.min_success, 100);
    std::vector<Observation> all;
    for (int i = 0; i < 99; ++i) all.push_back(done(i + 1, 50));
    EXPECT_EQ(measure(all, a_batch(), rules).median, std::nullopt);
    all.push_back(done(100, 50));
    EXPECT_EQ(measure(all, a_batch(), rules).median, 50);
    EXPECT_EQ(measure({}, a_batch(), small_rules(0)).median, std::nullopt);
    const std::vector<Observation> zero{done(1, 0), done(2, 0)};
    EXPECT_EQ(measure(zero, a_batch(), small_rules(0)).median, std::nullopt) << "a median of 0 measures nothing";
}

TEST(Median, Level1WantsHalfOfTheJobs) {
    StatsRules rules = small_rules(1);
    rules.min_success_frac = 0.5;
    std::vector<Observation> all{done(1, 50), done(2, 50)};
    // Two more instances of the same jobs that failed before, and two jobs that are not done.
    for (int i = 0; i < 2; ++i) {
        Observation o = of_kind(JobKind::kFailed, 3);
        o.workunit = all[static_cast<std::size_t>(i)].workunit;
        all.push_back(o);
        all.push_back(of_kind(JobKind::kWaiting, 0));
    }
    EXPECT_EQ(measure(all, a_batch(), rules).median, 50) << "2 of 4 jobs";
    EXPECT_EQ(measure(all, a_batch(5), rules).median, std::nullopt)
        << "the batch has a job without results, too: 2 of 5";
}

TEST(Verdict, RatiosAtBothLevels) {
    struct Case {
        const char* what;
        std::vector<Observation> jobs;  ///< of host 1; the median is 1000 s
        bool ltt0, ltt1;
    };
    const Case cases[] = {
        {"quicker than the median", {done(1, 999)}, true, true},
        {"as quick as the median: not below 1", {done(1, 1000)}, false, false},
        {"mean of both", {done(1, 400), done(1, 1500)}, true, true},
        {"mean of 1", {done(1, 500), done(1, 1500)}, false, false},
        {"one that timed out in eleven: (10 * 0.05 + 10) / 11 < 1",
         {done(1, 50), done(1, 50), done(1, 50), done(1, 50), done(1, 50), done(1, 50), done(1, 50), done(1, 50),
          done(1, 50), done(1, 50), of_kind(JobKind::kTimedOut, 1)},
         true,
         true},
        {"one that timed out in two", {done(1, 50), of_kind(JobKind::kTimedOut, 1)}, false, false},
        {"an error counts at level 1", {done(1, 50), of_kind(JobKind::kFailed, 1)}, true, false},
        {"an invalid result is no success at level 1", {done(1, 50), of_kind(JobKind::kInvalid, 1, 50)}, true, false},
        {"what was not needed does not count", {done(1, 50), of_kind(JobKind::kIgnored, 1)}, true, true},
        {"a running job younger than the median is no news",
         {done(1, 900), of_kind(JobKind::kInProgress, 1, 990)},
         true,
         true},
        {"an older one is as slow as it has been", {done(1, 900), of_kind(JobKind::kInProgress, 1, 1200)}, true, false},
        {"only running jobs: nothing known at level 0", {of_kind(JobKind::kInProgress, 1, 5000)}, false, false},
        {"only timed out", {of_kind(JobKind::kTimedOut, 1)}, false, false},
    };
    for (const Case& c : cases)
        for (const int level : {0, 1}) {
            const StatsRules rules = small_rules(level);
            Scores scores(rules, kNow);
            BatchMeasure m;
            m.median = 1000;
            scores.add(c.jobs, a_batch(), m);
            EXPECT_EQ(scores.ltt_hosts(), (level == 0 ? c.ltt0 : c.ltt1) ? std::vector<Id>{1} : std::vector<Id>{})
                << c.what << ", level " << level;
        }
}

TEST(Verdict, AFailedJobCountsAsTenMedians) {
    const StatsRules rules = small_rules(1);
    Scores scores(rules, kNow);
    BatchMeasure m;
    m.median = 100;
    const std::vector<Observation> jobs{of_kind(JobKind::kInProgress, 1, 90000), of_kind(JobKind::kTimedOut, 2),
                                        of_kind(JobKind::kInProgress, 3, 250)};
    scores.add(jobs, a_batch(), m);
    const auto versions = scores.versions();
    ASSERT_EQ(versions.size(), 3u);
    EXPECT_EQ(versions[0].ratio, 10);
    EXPECT_EQ(versions[1].ratio, 10);
    EXPECT_EQ(versions[2].ratio, 2.5);
}

TEST(Verdict, OldJobsFadeAtLevelOne) {
    const StatsRules rules0 = small_rules(0), rules1 = small_rules(1);
    const double month = rules1.half_life;
    // Slow three half-lives ago, quick now: (1/8 * 5 + 1 * 0.5) / 1.125 = 1.0, a bit less with the newer one.
    const std::vector<Observation> jobs{done(1, 5000, 3 * month), done(1, 400)};
    BatchMeasure m;
    m.median = 1000;
    Scores level0(rules0, kNow), level1(rules1, kNow);
    level0.add(jobs, a_batch(), m);
    level1.add(jobs, a_batch(), m);
    EXPECT_TRUE(level0.ltt_hosts().empty());
    EXPECT_EQ(level1.ltt_hosts(), std::vector<Id>{1});
    EXPECT_NEAR(level1.versions()[0].ratio, (5.0 / 8 + 0.4) / 1.125, 1e-9);
}

TEST(Verdict, FewJobsAreNone) {
    StatsRules rules = stats_rules(1);
    EXPECT_EQ(rules.min_jobs, 3);
    BatchMeasure m;
    m.median = 1000;
    std::vector<Observation> jobs{done(1, 10), done(1, 10)};
    Scores two(rules, kNow);
    two.add(jobs, a_batch(), m);
    EXPECT_TRUE(two.ltt_hosts().empty());
    jobs.push_back(done(1, 10));
    Scores three(rules, kNow);
    three.add(jobs, a_batch(), m);
    EXPECT_EQ(three.ltt_hosts(), std::vector<Id>{1});
}

TEST(Verdict, VersionsOfAHostAreToldApart) {
    const StatsRules rules = small_rules(1);
    Scores scores(rules, kNow);
    BatchMeasure m;
    m.median = 1000;
    const std::vector<Observation> jobs{done(1, 100, 0, 7), of_kind(JobKind::kFailed, 1, 100, 8),
                                        done(1, 100, 0, 1000003), done(1, 100, 0, 0)};
    scores.add(jobs, a_batch(), m);
    const auto v = scores.versions();
    ASSERT_EQ(v.size(), 3u) << "version 0 is not known";
    EXPECT_TRUE(v[0].ltt);
    EXPECT_FALSE(v[1].ltt);
    EXPECT_EQ(v[2].version, 1000003);
    StatsRules strict = small_rules(1);
    strict.min_jobs = 2;
    Scores few(strict, kNow);
    few.add(jobs, a_batch(), m);
    EXPECT_TRUE(few.versions().empty()) << "one job is not a verdict, neither a good nor a bad one";
    const StatsRules rules0 = stats_rules(0);  // Scores keeps a reference
    Scores level0(rules0, kNow);
    level0.add(jobs, a_batch(), m);
    EXPECT_TRUE(level0.versions().empty());
}

TEST(Verdict, AnAppNeedsAHundredHostsQuarterLtt) {
    struct Case {
        int hosts, ltt;
        bool accelerable;
    };
    const StatsRules rules = stats_rules(0);
    for (const Case& c :
         {Case{100, 100, false}, {101, 26, true}, {101, 25, false}, {104, 26, false}, {1000, 251, true}}) {
        Scores scores(rules, kNow);
        std::vector<Observation> jobs;
        for (int i = 1; i <= c.hosts; ++i) jobs.push_back(done(i, i <= c.ltt ? 10 : 1000));
        jobs.push_back(of_kind(JobKind::kTimedOut, 99999));  // has completed nothing: not a host of the app
        BatchMeasure m;
        m.median = 1000;
        scores.add(jobs, a_batch(), m);
        const auto apps = scores.apps();
        ASSERT_EQ(apps.size(), 1u);
        EXPECT_EQ(apps[0].hosts, c.hosts);
        EXPECT_EQ(apps[0].ltt_hosts, c.ltt);
        EXPECT_EQ(apps[0].accelerable, c.accelerable) << c.hosts << " " << c.ltt;
    }
}

}  // namespace
}  // namespace sluice
