// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/match_world.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

TEST(Matcher, SendsNothingFromEmptyPoolAndSaysSo) {
    MatchWorld w;
    w.pool.add_empty();
    const MatchResult r = w.match();
    EXPECT_THAT(r.jobs, IsEmpty());
    EXPECT_TRUE(r.stats.pool_empty);
    EXPECT_EQ(w.facts.loads, 0);
}

TEST(Matcher, AJobCarriesWhatTheReplyNeeds) {
    MatchWorld w;
    w.pool.add(a_job(3));
    const MatchResult r = w.match();
    ASSERT_THAT(r.jobs, SizeIs(1));
    EXPECT_EQ(r.jobs[0].job.result_id, 3);
    EXPECT_EQ(r.jobs[0].version.app_version_id, 11);
    EXPECT_DOUBLE_EQ(r.jobs[0].estimated_runtime, 3600);
    EXPECT_DOUBLE_EQ(r.jobs[0].delay_bound, 86400);
    EXPECT_LE(r.left.seconds[0], 0);
    EXPECT_EQ(w.pool.claimed.size(), 1u);
}

TEST(Matcher, JobBoundToOldVersionIsSent) {
    MatchWorld w;
    w.app(1);
    for (AppVersion& v : w.tables.versions) v.deprecated = true;
    w.pool.add(a_job(1));
    w.pool.add(a_job(2).version_num(w.tables.versions.front().version_num));
    w.want(ProcType::kCpu, 7200, 2);
    EXPECT_THAT(w.sent(), ElementsAre(2));
}

TEST(Matcher, TakesTheMostValuableJobs) {
    MatchWorld w;
    for (int i = 1; i <= 5; ++i) w.pool.add(a_job(i).priority(i == 3 ? 9 : i));
    w.want(ProcType::kCpu, 7200, 2);
    EXPECT_THAT(w.sent(), ElementsAre(3, 5));
}

TEST(Matcher, AnAppAtItsLimitEndsNoSearch) {
    MatchWorld w;
    w.app(2);
    w.params.max_jobs_in_progress.apps["app1"].total.jobs = 1;
    for (int i = 1; i <= 3; ++i) w.pool.add(a_job(i).priority(10 - i));
    w.pool.add(a_job(4).app(2));
    w.want(ProcType::kCpu, 7200, 2);
    EXPECT_THAT(w.sent(), ElementsAre(1, 4));
}

TEST(Matcher, AVersionOverQuotaEndsNoSearch) {
    MatchWorld w;
    w.app(2);
    w.params.daily_result_quota = 1;
    HostAppVersion v;
    v.app_version_id = 11;
    v.max_jobs_per_day = 1;
    w.host.versions.push_back(v);
    for (int i = 1; i <= 3; ++i) w.pool.add(a_job(i).priority(10 - i));
    w.pool.add(a_job(4).app(2));
    w.want(ProcType::kCpu, 7200, 2);
    EXPECT_THAT(w.sent(), ElementsAre(1, 4));
}

TEST(Matcher, WhatFailsSlowCheckIsReplacedByNext) {
    MatchWorld w;
    w.params.one_result_per_user_per_wu = true;
    for (int i = 1; i <= 3; ++i) w.pool.add(a_job(i).priority(10 - i));
    w.facts.at(1).results_of_user = 1;
    w.pool.lost = {2};
    EXPECT_THAT(w.sent(), ElementsAre(3));
    EXPECT_EQ(w.facts.loads, 1);
}

TEST(Matcher, JobThatNoHostMayHaveIsDiscarded) {
    MatchWorld w;
    w.pool.add(a_job(1));
    w.facts.at(1).error_mask = 16;
    EXPECT_THAT(w.sent(), IsEmpty());
    EXPECT_TRUE(w.pool.slots[0].discarded);
}

TEST(Matcher, GpuJobsFirstInOneScan) {
    MatchWorld w;
    w.host = a_host().nvidia().get();
    w.tables.versions.push_back(a_version(12, 1, "cuda_fermi"));
    for (int i = 1; i <= 10; ++i) w.pool.add(a_job(i).flops(1e13));
    w.want(ProcType::kCpu, 1, 1).want(ProcType::kNvidia, 1, 1);
    const MatchResult r = w.match();
    ASSERT_THAT(r.jobs, SizeIs(2));
    EXPECT_EQ(r.jobs[0].version.usage.proc_type, ProcType::kNvidia);
    EXPECT_EQ(r.jobs[1].version.usage.proc_type, ProcType::kCpu);
    EXPECT_NE(r.jobs[0].job.result_id, r.jobs[1].job.result_id);
    EXPECT_EQ(r.stats.slots_scanned, 10u);
}

/// A CPU version and one for NVIDIA, one job wanted of each.
MatchWorld two_resources() {
    MatchWorld w;
    w.host = a_host().nvidia().get();
    w.tables.versions.push_back(a_version(12, 1, "cuda_fermi"));
    w.want(ProcType::kCpu, 1, 1).want(ProcType::kNvidia, 1, 1);
    return w;
}

TEST(Matcher, AJobForNobodyIsSeenOnce) {
    MatchWorld w = two_resources();
    w.pool.add(a_job(1).flops(1e13));
    w.facts.at(1).error_mask = 16;
    const MatchResult r = w.match();
    EXPECT_THAT(r.jobs, IsEmpty());
    EXPECT_TRUE(w.pool.slots[0].discarded);
    EXPECT_EQ(r.stats.claims_lost, 0u) << "nobody else took it";
}

/// Slot 1 gets another job, or none, while the database is asked.
struct SlotLeavesMeanwhile final : FactsSource {
    explicit SlotLeavesMeanwhile(MatchWorld& world) : w(world) {}
    std::vector<WorkunitFacts> load(std::span<const JobSummary> jobs) override {
        w.pool.slots[1].state = SlotState::kEmpty;
        return w.facts.load(jobs);
    }
    MatchWorld& w;
};

TEST(Matcher, ASlotChangedDuringTheQueryIsLost) {
    MatchWorld w;
    w.want(ProcType::kCpu, 1e9, 9);
    for (int i = 1; i <= 3; ++i) w.pool.add(a_job(i).priority(10 - i));
    SlotLeavesMeanwhile facts(w);
    const MatchContext c = w.context();
    const MatchResult r = Matcher(c, w.pool, facts, &w.trace).match();
    EXPECT_THAT(r.jobs, SizeIs(2));
    EXPECT_EQ(r.stats.claims_lost, 1u);
    EXPECT_EQ(w.trace.of(2)->fate, Reason::kClaimLost);
}

/// Slots are read once by the scan and once by the walk; then they are empty.
struct LeavesBeforeItsFactsAreLoaded final : JobPool {
    explicit LeavesBeforeItsFactsAreLoaded(MemoryPool& slots) : pool(slots) {}
    std::uint32_t size() const override { return pool.size(); }
    SlotState read(std::uint32_t i, JobSummary& job, SlotRef& ref) const override {
        const SlotState state = pool.read(i, job, ref);
        return pool.reads > 2 ? SlotState::kEmpty : state;
    }
    bool claim(const SlotRef& ref) override { return pool.claim(ref); }
    void release(const SlotRef& ref) override { pool.release(ref); }
    std::optional<std::string> workunit_xml(const SlotRef& ref) const override { return pool.workunit_xml(ref); }
    MemoryPool& pool;
};

TEST(Matcher, ASlotChangedBeforeTheQueryIsLost) {
    MatchWorld w;
    w.pool.add(a_job(1));
    LeavesBeforeItsFactsAreLoaded pool(w.pool);
    const MatchContext c = w.context();
    EXPECT_THAT(Matcher(c, pool, w.facts, &w.trace).match().jobs, IsEmpty());
    EXPECT_EQ(w.trace.of(1)->fate, Reason::kClaimLost);
}

TEST(Matcher, OneJobForTwoResourcesAsksOnce) {
    MatchWorld w = two_resources();
    w.params.mm_min_slots = 1;
    for (int i = 1; i <= 2; ++i) w.pool.add(a_job(i).flops(1e13));
    EXPECT_THAT(w.sent(), SizeIs(2));
    EXPECT_EQ(w.facts.loads, 1) << "not after the first slot";
    EXPECT_EQ(w.facts.loaded, 2u);
}

// Of any two neighbours the database refuses one: the other does for one resource.
TEST(Matcher, OneAllowedJobDoesNotEndTheScan) {
    MatchWorld w = two_resources();
    w.params.mm_min_slots = 2;
    for (int i = 1; i <= 4; ++i) w.pool.add(a_job(i).flops(1e13));
    w.facts.at(1).error_mask = w.facts.at(3).error_mask = 16;
    EXPECT_THAT(w.sent(), UnorderedElementsAre(2, 4));
}

TEST(Matcher, TheDatabaseIsAskedOnceAboutAJob) {
    constexpr int kForCards = 30, kForCpus = 5;
    MatchWorld w = two_resources();
    w.params.one_result_per_user_per_wu = true;
    w.app(2);  // for CPUs
    w.tables.versions[0].deprecated = true;
    for (int i = 1; i <= kForCards; ++i) {
        w.pool.add(a_job(i).flops(1e13));
        w.facts.at(i).results_of_user = 1;
    }
    for (int i = 1; i <= kForCpus; ++i) w.pool.add(a_job(kForCards + i).app(2));
    EXPECT_THAT(w.sent(), SizeIs(1));
    EXPECT_EQ(w.facts.loads, 2);
    EXPECT_EQ(w.facts.loaded, static_cast<std::size_t>(kForCards + kForCpus));
}

// A load when 1, 2, 4 … slots were looked at.
TEST(Matcher, TheScanEndsWithTheLastQuery) {
    MatchWorld w;
    w.params.one_result_per_user_per_wu = true;
    w.params.mm_min_slots = 1;
    for (int i = 1; i <= 1000; ++i) {
        w.pool.add(a_job(i));
        w.facts.at(i).results_of_user = 1;
    }
    const MatchResult r = w.match();
    EXPECT_EQ(w.facts.loads, Matcher::kMaxLoads);
    EXPECT_EQ(r.stats.slots_scanned, 1u << (Matcher::kMaxLoads - 1));
}

TEST(Matcher, WhatTheSetLacksIsTold) {
    MatchWorld w;
    w.host = a_host().disk(10);
    w.want(ProcType::kCpu, 1e6, 2);
    for (int i = 1; i <= 2; ++i) w.pool.add(a_job(i).disk(6));
    const MatchResult r = w.match();
    EXPECT_THAT(r.jobs, SizeIs(1));
    ASSERT_THAT(r.stats.obstacles, SizeIs(1));
    EXPECT_EQ(r.stats.obstacles[0].verdict.reason, Reason::kDiskSet);
    EXPECT_EQ(r.stats.obstacles[0].appid, 1);
}

TEST(Matcher, AJobIsCountedUnderOneReason) {
    MatchWorld w;
    w.params.one_result_per_user_per_wu = true;
    w.params.max_jobs_in_progress.project.cpu = {1, false};
    w.want(ProcType::kCpu, 1e6, 2);
    for (int i = 1; i <= 5; ++i) w.pool.add(a_job(i).priority(10 - i));
    w.facts.at(1).results_of_user = 1;
    const MatchResult r = w.match();
    EXPECT_THAT(r.jobs, SizeIs(1));
    EXPECT_EQ(r.stats.reasons[static_cast<std::size_t>(Reason::kOneResultPerUser)].count, 1u);
    EXPECT_EQ(r.stats.reasons[static_cast<std::size_t>(Reason::kInProgressLimit)].count, 3u);
}

TEST(Reasons, ABetaVersionBlocksItsResourceOnly) {
    MatchWorld w;
    w.host = a_host().nvidia();
    w.want(ProcType::kCpu, 0).want(ProcType::kNvidia, 100, 1);
    w.tables.versions = {a_version(11, 1, "cuda_fermi")};
    w.tables.versions[0].beta = true;
    EXPECT_EQ(w.why(a_job(1)), Reason::kBetaNotAllowed);
}

// Upstream's built-in OpenCL classes look at what OpenCL tells of the card, not at what the driver tells.
TEST(Reasons, MemoryOfOpenclClassesIsWhatOpenclTells) {
    MatchWorld w;
    w.host = a_host().nvidia();
    Coproc& card = w.host.coprocs[0];
    w.want(ProcType::kCpu, 0).want(ProcType::kNvidia, 100, 1);
    w.tables.versions = {a_version(11, 1, "opencl_nvidia_101")};
    card.available_ram = 1e6;
    EXPECT_EQ(w.why(a_job(1)), Reason::kFeasible);
    card.available_ram = 8 * kGiB;
    card.opencl.global_mem_size = 1e6;
    EXPECT_EQ(w.why(a_job(2)), Reason::kGpuMemory);
    card.opencl.global_mem_size = 0;
    EXPECT_EQ(w.why(a_job(3)), Reason::kFeasible) << "not told";
}

}  // namespace
}  // namespace sluice::test
