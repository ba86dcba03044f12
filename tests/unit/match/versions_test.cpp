// SPDX-License-Identifier: LGPL-3.0-or-later
// Choice of the app version: platforms, pins, commitments, speed, reliability, anonymous platform, BUDA.
#include "sched/match/app_versions.h"
#include "sched/match/scan.h"
#include "tests/support/match_world.h"

namespace sluice::test {
namespace {

struct Choosing : testing::Test {
    MatchWorld w;
    Verdict why;
    AppChoice choose(const JobSummary& job = a_job(), bool check_wanted = false) {
        const MatchContext c = w.context();
        const match::ActivePolicies policies(c);
        const match::AppTable apps(c, policies);
        const match::Picked picked = match::initial_picked(c);
        match::VersionChooser chooser(c, w.pool);
        std::array<bool, kProcTypes> wanted{};
        for (int t = 0; t < kProcTypes; ++t)
            wanted[static_cast<std::size_t>(t)] = !check_wanted || picked.wants(static_cast<ProcType>(t));
        const match::VersionPick pick = chooser.choose_any(*apps.find(1), job, SlotRef{}, wanted);
        why = pick.why;
        return pick.offer ? pick.offer->choice : AppChoice{};
    }
    HostAppVersion& history(Id version = 11) {
        HostAppVersion& v = w.host.versions.emplace_back();
        v.app_version_id = version;
        return v;
    }
};

TEST_F(Choosing, APlainVersionRunsOnOneCpu) {
    const AppChoice c = choose();
    ASSERT_TRUE(c.found);
    EXPECT_EQ(c.app_version_id, 11);
    EXPECT_EQ(c.generalized_id, 11);
    EXPECT_EQ(c.platform, "x86_64-pc-linux-gnu");
    EXPECT_DOUBLE_EQ(c.usage.avg_ncpus, 1);
    EXPECT_DOUBLE_EQ(c.usage.projected_flops, 1e9);
    EXPECT_DOUBLE_EQ(c.usage.peak_flops, 1e9);
    EXPECT_TRUE(c.speed_is_guess);
    EXPECT_FALSE(c.reliable);
}

TEST_F(Choosing, SpeedComesFromHostsHistoryAfterTenSamples) {
    w.tables.versions.push_back(a_version(12, 1, "mt"));
    history(11).et = {11, 1e-10, 0, 0};  // 10 GFLOPS: ten times the benchmark, and more than four threads
    history(11).pfc_n = 0;
    w.host.versions.resize(1);
    w.host.versions[0].pfc_n = 100;
    const AppChoice c = choose();
    EXPECT_EQ(c.app_version_id, 11);
    EXPECT_DOUBLE_EQ(c.usage.projected_flops, 1e10);
    EXPECT_FALSE(c.speed_is_guess);
    w.host.versions[0].et.n = 10;
    EXPECT_DOUBLE_EQ(choose().usage.projected_flops, 4e9) << "ten samples are not enough: the threads win";
}

TEST_F(Choosing, EstimateIsCappedAt250TimesPlanClass) {
    history().et = {11, 1e-15, 0, 0};
    EXPECT_DOUBLE_EQ(choose().usage.projected_flops, 250e9);
}

TEST_F(Choosing, StatisticsCanBeSwitchedOff) {
    history().et = {11, 1e-10, 0, 0};
    w.params.rte_no_stats = true;
    EXPECT_DOUBLE_EQ(choose().usage.projected_flops, 1e9);
    w.tables.versions[0].pfc_n = 1000;
    w.tables.versions[0].pfc_avg = 0.25;
    EXPECT_DOUBLE_EQ(choose().usage.projected_flops, 1e9) << "those of the version neither";
}

TEST_F(Choosing, HostPfcIsUsedIfConfigured) {
    HostAppVersion& v = history();
    v.et = {11, 1e-10, 0, 0};
    v.pfc_avg = 0.5;
    w.params.estimate_flops_from_hav_pfc = true;
    EXPECT_DOUBLE_EQ(choose().usage.projected_flops, 2e9);
}

TEST_F(Choosing, ThenTheVersionsOwnStatistics) {
    w.tables.versions[0].pfc_n = 101;
    w.tables.versions[0].pfc_avg = 0.25;
    const AppChoice c = choose();
    EXPECT_DOUBLE_EQ(c.usage.projected_flops, 4e9);
    EXPECT_TRUE(c.speed_is_guess) << "of other hosts, not of this one";
    w.tables.versions[0].pfc_n = 100;
    EXPECT_DOUBLE_EQ(choose().usage.projected_flops, 1e9);
}

TEST_F(Choosing, AnUnmeasuredGpuIsTakenForTenCpus) {
    w.host = a_host().nvidia();
    w.tables.versions[0].plan_class = "cuda_fermi";
    const AppChoice c = choose();
    EXPECT_EQ(c.usage.proc_type, ProcType::kNvidia);
    EXPECT_NEAR(c.usage.projected_flops, 1e9 * (c.usage.avg_ncpus + 10), 1);
}

TEST_F(Choosing, FasterVersionWins) {
    w.tables.versions.push_back(a_version(12, 1, "mt"));
    EXPECT_EQ(choose().app_version_id, 12);
    w.host = a_host().cpus(1);
    EXPECT_EQ(choose().app_version_id, 11);
}

TEST_F(Choosing, ExperienceOutweighsThePlanClassAsItGrows) {
    // 12 promises 4 GFLOPS and delivers a quarter of the plain version.
    w.tables.versions.push_back(a_version(12, 1, "mt"));
    HostAppVersion& v = history(12);
    v.et = {50, 4e-9, 0, 0};
    v.pfc_n = 1;
    EXPECT_EQ(choose().app_version_id, 12);
    w.host.versions[0].pfc_n = 50;
    EXPECT_EQ(choose().app_version_id, 11);
}

TEST_F(Choosing, TheRandomFactorLetsEveryVersionBeTried) {
    w.tables.versions.push_back(a_version(12, 1, "mt"));
    w.host = a_host().cpus(2);  // about twice as fast
    w.params.version_select_random_factor = 1;
    std::map<Id, int> times;
    for (w.seed = 1; w.seed <= 400; ++w.seed) ++times[choose().app_version_id];
    EXPECT_GT(times[11], 20);
    EXPECT_GT(times[12], 200);
}

TEST_F(Choosing, FailedVersionIsTriedOnceInHundred) {
    w.tables.versions.push_back(a_version(12, 1, "", 1, 100));
    HostAppVersion& bad = history(11);
    bad.max_jobs_per_day = 1;
    int tried = 0;
    for (w.seed = 1; w.seed <= 2000; ++w.seed) tried += choose().app_version_id == 11 ? 1 : 0;
    EXPECT_GT(tried, 3);
    EXPECT_LT(tried, 60);
}

TEST_F(Choosing, PlatformsInTheClientsOrder) {
    w.host.platforms = {"i686-pc-linux-gnu", "x86_64-pc-linux-gnu"};
    w.tables.versions.push_back(a_version(12, 1, "", 2));
    EXPECT_EQ(choose().app_version_id, 12) << "equal speed: the first platform's";
    w.tables.versions[0].plan_class = "mt";
    EXPECT_EQ(choose().app_version_id, 11) << "faster, on the second platform";
    w.params.prefer_primary_platform = true;
    EXPECT_EQ(choose().app_version_id, 12);
}

TEST_F(Choosing, DeprecatedVersionsAreForPinnedJobsOnly) {
    w.tables.versions[0].deprecated = true;
    EXPECT_FALSE(choose().found);
    EXPECT_TRUE(choose(a_job().version_num(100)).found);
}

// A job that is bound to a version, or that no version suits, must not decide for the jobs after it.
TEST_F(Choosing, APinnedJobSaysNothingAboutOthers) {
    w.tables.versions.push_back(a_version(12, 1, "mt", 1, 101));
    w.pool.add(a_job(1).version_num(100).priority(9));
    w.pool.add(a_job(2).version_num(55).priority(8));
    w.pool.add(a_job(3));
    w.want(ProcType::kCpu, 1e6, 4);
    const MatchResult r = w.match();
    ASSERT_EQ(r.jobs.size(), 2u);
    EXPECT_EQ(r.jobs[0].version.app_version_id, 11);
    EXPECT_EQ(r.jobs[1].job.result_id, 3);
    EXPECT_EQ(r.jobs[1].version.app_version_id, 12);
}

TEST_F(Choosing, CommittedVersionOfAHomogeneousApp) {
    w.app(1).homogeneous_app_version = true;
    w.tables.versions.push_back(a_version(12, 1, "mt"));
    EXPECT_EQ(choose(a_job().committed_version(11)).app_version_id, 11);
    EXPECT_FALSE(choose(a_job().committed_version(99)).found);
    EXPECT_EQ(why.reason, Reason::kAppVersionMismatch);
    w.user.dont_use[0] = true;  // upstream skips preferences, quota and capability here
    EXPECT_FALSE(choose(a_job().committed_version(11)).found);
    EXPECT_EQ(why.reason, Reason::kCpuRefusedByPrefs);
}

TEST_F(Choosing, ACommittedWorkunitKeepsItsVersion) {
    w.app(1).homogeneous_app_version = true;
    w.tables.versions[0].deprecated = true;  // as the catalogue flags those that are not the newest
    w.tables.versions.push_back(a_version(12, 1));
    EXPECT_EQ(choose(a_job().committed_version(11)).app_version_id, 11);
    EXPECT_EQ(choose(a_job()).app_version_id, 12);
}

TEST_F(Choosing, AReliableHostGetsRetriesOfCommittedWorkunits) {
    w.app(1).homogeneous_app_version = true;
    history().consecutive_valid = 10;
    EXPECT_EQ(w.why(a_job().committed_version(11).need_reliable()), Reason::kFeasible);
}

TEST_F(Choosing, OnlyWantedResources) {
    w.want(ProcType::kCpu, 0).want(ProcType::kNvidia, 100);
    EXPECT_FALSE(choose(a_job(), true).found);
    EXPECT_EQ(why.reason, Reason::kResourceNotWanted);
    EXPECT_TRUE(choose(a_job(), false).found);
}

TEST_F(Choosing, ReliabilityNeedsTenValidAndShortTurnaround) {
    HostAppVersion& v = history();
    v.consecutive_valid = 9;
    EXPECT_FALSE(choose().reliable);
    v.consecutive_valid = 10;
    EXPECT_TRUE(choose().reliable);
    w.params.reliable_max_avg_turnaround = 100;
    v.turnaround = {11, 101, 0, 0};
    EXPECT_FALSE(choose().reliable);
    v.turnaround.n = 10;
    EXPECT_TRUE(choose().reliable) << "too few to judge";
    v.turnaround = {11, 179, 0, 0};
    w.host.row.os_name = "FreeBSD";
    EXPECT_TRUE(choose().reliable) << "rare systems may take 1.8 times as long";
    v.turnaround.avg = 181;
    EXPECT_FALSE(choose().reliable);
    v.turnaround.avg = 1;
    w.params.daily_result_quota = 50;
    v.max_jobs_per_day = 49;
    EXPECT_FALSE(choose().reliable);
}

TEST_F(Choosing, TrustGrowsWithValidResults) {
    HostAppVersion& v = history();
    v.consecutive_valid = 20;
    int trusted = 0;
    for (w.seed = 1; w.seed <= 1000; ++w.seed) trusted += choose().trusted ? 1 : 0;
    EXPECT_NEAR(trusted, 950, 30);
    v.consecutive_valid = 9;
    EXPECT_FALSE(choose().trusted);
}

TEST_F(Choosing, DailyQuotaScalesWithProcessors) {
    w.params.daily_result_quota = 100;
    w.params.gpu_multiplier = 3;
    w.host = a_host().nvidia(2);
    HostAppVersion v;
    v.app_version_id = 11;
    v.max_jobs_per_day = 5;
    EXPECT_EQ(match::daily_quota(w.context(), v).allowed, 20);
    w.tables.versions[0].plan_class = "cuda_fermi";
    EXPECT_EQ(match::daily_quota(w.context(), v).allowed, 30);
    v.max_jobs_per_day = 1;
    EXPECT_EQ(match::daily_quota(w.context(), v).allowed, 1);
    v.app_version_id = 1000003;  // anonymous NVIDIA version of app 1
    v.max_jobs_per_day = 2;
    EXPECT_EQ(match::daily_quota(w.context(), v).allowed, 12);
    w.params.daily_result_quota = 0;
    EXPECT_LT(match::daily_quota(w.context(), v).allowed, 0);
}

TEST_F(Choosing, SizeClassIsFirstQuantileAboveSpeed) {
    std::vector<double> q = {1, 2, 3};
    EXPECT_EQ(match::size_class_of(&q, 0.5), 0);
    EXPECT_EQ(match::size_class_of(&q, 1), 1);
    EXPECT_EQ(match::size_class_of(&q, 2.5), 2);
    EXPECT_EQ(match::size_class_of(&q, 99), 3);
    EXPECT_EQ(match::size_class_of(nullptr, 1), -1);
    std::vector<double> many;
    for (int i = 1; i < 40; ++i) many.push_back(i);
    EXPECT_EQ(match::size_class_of(&many, 38.5), 38) << "more classes than upstream's ten";
}

struct Anonymous : Choosing {
    Anonymous() { w.host = a_host().anonymous(); }
    ClientAppVersion& version(double flops, ProcType type = ProcType::kCpu) {
        ClientAppVersion& v = w.host.client_versions.emplace_back();
        v.appid = 1;
        v.app_name = "app1";
        v.platform = "x86_64-pc-linux-gnu";
        v.version_num = 100;
        v.flops = flops;
        v.proc_type = type;
        v.gpu_usage = type == ProcType::kCpu ? 0 : 1;
        return v;
    }
};

TEST_F(Anonymous, TheFastestOfTheClientsVersions) {
    version(1e9);
    version(3e9).version_num = 7;
    const AppChoice c = choose();
    ASSERT_TRUE(c.found);
    EXPECT_TRUE(c.anonymous);
    EXPECT_EQ(c.version_num, 7);
    EXPECT_EQ(c.app_version_id, -2);
    EXPECT_EQ(c.generalized_id, 1000002);
    EXPECT_DOUBLE_EQ(c.usage.projected_flops, 3e9);
    EXPECT_DOUBLE_EQ(c.usage.peak_flops, 1e9) << "the benchmark; upstream reads it too early and records 0";
}

TEST_F(Anonymous, PreferPrimaryPlatformIsForTheProjectsVersions) {
    w.params.prefer_primary_platform = true;
    version(1e9);
    version(3e9).platform = "i686-pc-linux-gnu";
    EXPECT_DOUBLE_EQ(choose().usage.projected_flops, 3e9);
}

TEST_F(Anonymous, UndeclaredSpeedIsTheBenchmark) {
    version(0);
    EXPECT_DOUBLE_EQ(choose().usage.projected_flops, 1e9);
}

TEST_F(Anonymous, MeasuredSpeedScalesWhatTheClientIsTold) {
    version(1e9);
    history(1000002).et = {11, 5e-10, 0, 0};
    const AppChoice c = choose();
    EXPECT_DOUBLE_EQ(c.usage.projected_flops, 2e9);
    EXPECT_DOUBLE_EQ(c.fpops_scale, 0.5);
}

TEST_F(Anonymous, RespectsMinVersionHomogeneityAndOtherApps) {
    version(1e9).version_num = 3;
    w.app(1).min_version = 4;
    EXPECT_FALSE(choose().found);
    w.app(1).min_version = 3;
    EXPECT_TRUE(choose().found);
    w.app(1).homogeneous_app_version = true;
    EXPECT_FALSE(choose().found);
    w.app(1).homogeneous_app_version = false;
    w.host.client_versions[0].appid = 2;
    EXPECT_FALSE(choose().found);
}

TEST_F(Anonymous, GpuVersionsServeGpuRequests) {
    version(1e9);
    version(5e9, ProcType::kNvidia);
    w.want(ProcType::kCpu, 0).want(ProcType::kNvidia, 10, 1);
    w.pool.add(a_job());
    const MatchResult r = w.match();
    ASSERT_EQ(r.jobs.size(), 1u);
    EXPECT_EQ(r.jobs[0].version.app_version_id, -3);
}

struct Buda : Choosing {
    Buda() {
        w.use_buda = true;
        w.buda = BudaCatalogue({{"sci",
                                 {{"cpu", "intel", "", "<file_info/>", "<file_ref/>"},
                                  {"arm", "arm", "", "", ""},
                                  {"gpu", "intel", "cuda_fermi", "", ""}}}});
        w.host = a_host().nvidia();
    }
};

TEST_F(Buda, CpuVariantOfTheHostsProcessor) {
    w.pool.add(a_job().buda("sci"));
    const MatchResult r = w.match();
    ASSERT_EQ(r.jobs.size(), 1u);
    EXPECT_EQ(r.jobs[0].version.buda_variant, "cpu");
    EXPECT_EQ(r.jobs[0].version.app_version_id, 11) << "the wrapper's version";
    EXPECT_TRUE(r.jobs[0].version.speed_is_guess);
}

TEST_F(Buda, GpuVariantForAGpuRequest) {
    w.want(ProcType::kCpu, 0).want(ProcType::kNvidia, 10, 1);
    w.pool.add(a_job().buda("sci"));
    const MatchResult r = w.match();
    ASSERT_EQ(r.jobs.size(), 1u);
    EXPECT_EQ(r.jobs[0].version.buda_variant, "gpu");
    EXPECT_EQ(r.jobs[0].version.usage.proc_type, ProcType::kNvidia);
    EXPECT_LE(r.left.instances[1], 0);
}

TEST_F(Buda, LimitsCountWrapperAtLevel0AndVariantLevel1) {
    w.want(ProcType::kCpu, 0).want(ProcType::kNvidia, 1e9, 2);
    w.params.max_jobs_in_progress.project.gpu = {1, false};
    w.pool.add(a_job(1).buda("sci"));
    w.pool.add(a_job(2).buda("sci"));
    MatchResult r = w.match();
    EXPECT_EQ(r.jobs.size(), 2u);
    for (auto& s : w.pool.slots) s.state = SlotState::kPresent;
    w.params.compat_level = 1;
    r = w.match();
    EXPECT_EQ(r.jobs.size(), 1u);
}

TEST_F(Buda, AarchIsArm) {
    EXPECT_TRUE(buda_cpu_matches("arm", "aarch64-unknown-linux-gnu"));
    EXPECT_TRUE(buda_cpu_matches("arm", "arm64-apple-darwin"));
    EXPECT_TRUE(buda_cpu_matches("intel", "windows_x86_64"));
    EXPECT_FALSE(buda_cpu_matches("intel", "aarch64-android-linux-gnu"));
    EXPECT_TRUE(buda_cpu_matches("", "anything"));
}

TEST_F(Buda, UnknownAppOrOneNamedInXml) {
    w.pool.add(a_job(1).buda("other"));
    EXPECT_TRUE(w.match().jobs.empty());
    JobSummary j = a_job(2);
    j.is_buda = 1;
    w.pool.add(j).xml = "<workunit><buda_app_name>sci</buda_app_name></workunit>";
    EXPECT_EQ(w.match().jobs.size(), 1u);
}

}  // namespace
}  // namespace sluice::test
