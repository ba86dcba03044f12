// SPDX-License-Identifier: LGPL-3.0-or-later
// Seed 002 (scheduler job matchmaking), sentence by sentence; docs/seeds_match.md maps sentences to these tests.
#include "sluice/match/policies.h"
#include "tests/support/match_world.h"

namespace sluice::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

struct Seed002 : testing::Test {
    MatchWorld w;
    Seed002() { w.params.compat_level = 1; }
    void fill(int n) {
        for (int i = 1; i <= n; ++i) w.pool.add(a_job(i));
    }
    // CPU time that a job takes on the host, 1 GFLOPS.
    static double flops(double seconds) { return seconds * 1e9; }
};

TEST_F(Seed002, OneScanInsteadOfOnePerPolicy) {
    w.host = a_host().nvidia();
    w.tables.versions.push_back(a_version(12, 1, "cuda_fermi"));
    fill(50);
    w.want(ProcType::kCpu, 1, 1).want(ProcType::kNvidia, 1, 1);
    const MatchContext c = w.context();
    w.pool.reads = 0;
    const MatchResult r = Matcher(c, w.pool, w.facts).match();
    EXPECT_THAT(r.jobs, SizeIs(2));
    EXPECT_EQ(r.stats.slots_scanned, 50u);
    // 50 for the scan; the rest are re-reads of the few candidates at the head of the lists.
    EXPECT_LT(w.pool.reads, 50u + 60u);
}

TEST_F(Seed002, ReliabilityIsOneTermAmongOthers) {
    HostAppVersion v;
    v.app_version_id = 11;
    v.consecutive_valid = 20;
    w.host.versions.push_back(v);
    w.app(1).homogeneous_redundancy = HrType::kFine;
    w.pool.add(a_job(1).need_reliable());
    w.pool.add(a_job(2).hr_class(277));
    w.params.score_weights = {{"reliable_retry", 1}, {"hr_committed", 5}};
    EXPECT_THAT(w.sent(), ElementsAre(2));
}

TEST_F(Seed002, HardJobsGoToHostsThatCan) {
    w.pool.add(a_job(1).flops(flops(600)));
    w.pool.add(a_job(2).flops(flops(80000)));  // nearly the whole day that its deadline allows
    EXPECT_THAT(w.sent(), ElementsAre(2));
    MatchWorld slow;
    slow.params.compat_level = 1;
    slow.host = a_host().speed(5e8);
    slow.pool.add(a_job(1).flops(flops(600)));
    slow.pool.add(a_job(2).flops(flops(80000)));
    EXPECT_THAT(slow.sent(), ElementsAre(1)) << "it can't";
}

TEST_F(Seed002, RamAndDiskDemandsCount) {
    w.host = a_host().ram(8 * kGiB).disk(10e9);
    w.pool.add(a_job(1).flops(1e9));
    w.pool.add(a_job(2).flops(1e9).ram(7 * kGiB));
    w.pool.add(a_job(3).flops(1e9).disk(5e9));
    w.want(ProcType::kCpu, 1.5, 1);
    EXPECT_THAT(w.sent(), ElementsAre(2, 3));
}

TEST_F(Seed002, FilesOnTheHostRaiseTheValue) {
    w.app(1).locality_scheduling = 1;
    w.host = a_host().file("big", 1e9);
    w.pool.add(a_job(1).input_file("other", 1e9));
    w.pool.add(a_job(2).input_file("big", 1e9));
    EXPECT_THAT(w.sent(), ElementsAre(2));
}

TEST_F(Seed002, RetryIsWorthMoreOnReliableHost) {
    HostAppVersion v;
    v.app_version_id = 11;
    v.consecutive_valid = 20;
    w.host.versions.push_back(v);
    w.pool.add(a_job(1));
    w.pool.add(a_job(2).need_reliable());
    EXPECT_THAT(w.sent(), ElementsAre(2));
}

TEST_F(Seed002, JobsCommittedToTheHostsClassFirst) {
    w.app(1).homogeneous_redundancy = HrType::kCoarse;
    w.pool.add(a_job(1));
    w.pool.add(a_job(2).hr_class(258));
    EXPECT_THAT(w.sent(), ElementsAre(2));
}

TEST_F(Seed002, ProjectsTweakTheWeights) {
    w.app(1).homogeneous_redundancy = HrType::kCoarse;
    w.pool.add(a_job(1).ram(8 * kGiB));
    w.pool.add(a_job(2).hr_class(258).ram(1));
    EXPECT_THAT(w.sent(), ElementsAre(2));
    w.pool.slots[1].state = SlotState::kPresent;
    w.params.score_weights["hardness"] = 50;
    EXPECT_THAT(w.sent(), ElementsAre(1));
    EXPECT_THAT(score_term_names(), Contains("hardness"));
}

TEST_F(Seed002, SetFeasibilityDisk) {
    w.host = a_host().disk(10);
    w.want(ProcType::kCpu, 1e6, 3);
    for (int i = 1; i <= 3; ++i) w.pool.add(a_job(i).disk(4).priority(i));
    EXPECT_THAT(w.sent(), ElementsAre(3, 2));
    EXPECT_EQ(w.trace.of(1)->fate, Reason::kDiskSet);
}

TEST_F(Seed002, SetFeasibilityDeadlineByEdfSimulation) {
    w.host = a_host().cpus(1).workload_known();
    w.params.workload_sim = true;
    w.want(ProcType::kCpu, 1e6, 1);
    w.pool.add(a_job(1).flops(flops(500)).delay_bound(1000).priority(9));
    w.pool.add(a_job(2).flops(flops(600)).delay_bound(1000));
    w.pool.add(a_job(3).flops(flops(400)).delay_bound(1000));
    EXPECT_THAT(w.sent(), UnorderedElementsAre(1, 3));
    EXPECT_EQ(w.trace.of(2)->fate, Reason::kDeadline);
}

TEST_F(Seed002, SetFeasibilityDeadlineCrude) {
    w.host = a_host().cpus(1);
    w.want(ProcType::kCpu, 1e6, 1);
    w.wanted.estimated_delay[0] = 600;
    w.pool.add(a_job(1).flops(flops(500)).delay_bound(1000));
    w.pool.add(a_job(2).flops(flops(300)).delay_bound(1000));
    EXPECT_THAT(w.sent(), ElementsAre(2));
    EXPECT_EQ(w.trace.of(1)->fate, Reason::kDeadline);
}

TEST_F(Seed002, HostsOwnQueueIsPartOfSet) {
    w.params.workload_sim = true;
    w.host = a_host().cpus(1).holds({"running", 1, ProcType::kCpu, w.now + 2000, 1000, 1, 0, 0, true});
    w.want(ProcType::kCpu, 1e6, 1);
    w.pool.add(a_job(1).flops(flops(1100)).delay_bound(1500));  // earlier deadline: would make the running one late
    w.pool.add(a_job(2).flops(flops(900)).delay_bound(1500));
    EXPECT_THAT(w.sent(), ElementsAre(2));
    EXPECT_EQ(w.trace.of(1)->fate, Reason::kDeadlineOthers);
}

TEST_F(Seed002, OneResultPerUserOrHostWithoutDatabase) {
    w.want(ProcType::kCpu, 1e6, 2);
    w.pool.add(a_job(1).workunit(7));
    w.pool.add(a_job(2).workunit(7));
    EXPECT_THAT(w.sent(), SizeIs(1));
}

TEST_F(Seed002, FastChecksNeedNoDatabase) {
    w.host = a_host().ram(10);
    fill(30);
    EXPECT_THAT(w.sent(), IsEmpty());
    EXPECT_EQ(w.facts.loads, 0);
}

TEST_F(Seed002, SlowChecksAskTheDatabaseOncePerShortlist) {
    w.params.one_result_per_user_per_wu = true;
    w.want(ProcType::kCpu, 36000, 4);
    fill(200);
    const MatchResult r = w.match();
    EXPECT_THAT(r.jobs, SizeIs(10));
    EXPECT_EQ(w.facts.loads, 1);
    EXPECT_LT(w.facts.loaded, 40u);
}

TEST_F(Seed002, ASecondShortlistTakesAllItCan) {
    w.params.one_result_per_user_per_wu = true;
    for (int i = 1; i <= 500; ++i) {
        w.pool.add(a_job(i).priority(500 - i));
        if (i < 300) w.facts.at(i).results_of_user = 1;
    }
    EXPECT_THAT(w.sent(), ElementsAre(300));
    EXPECT_EQ(w.facts.loads, 2);
}

// A request that wants more goes on, shortlist after shortlist.
TEST_F(Seed002, JobsThatSlowChecksRefuseDoesntEndSearch) {
    w.params.one_result_per_user_per_wu = true;
    constexpr int kJobs = 5000;
    for (int i = 1; i <= kJobs; ++i) {
        w.pool.add(a_job(i).priority(kJobs - i));
        if (i < kJobs) w.facts.at(i).results_of_user = 1;
    }
    EXPECT_THAT(w.sent(), ElementsAre(kJobs));
    EXPECT_LE(w.facts.loads, 6);
    for (const auto& row : w.trace.rows)
        EXPECT_EQ(row.fate, row.result == kJobs ? Reason::kFeasible : Reason::kOneResultPerUser) << row.result;
}

// A load is one statement, so there are not many: what is left is not "satisfied by jobs of more value".
TEST_F(Seed002, LookUpsAreBoundedAndSaidSo) {
    w.params.one_result_per_user_per_wu = true;
    constexpr int kJobs = Matcher::kMaxLoads * static_cast<int>(Matcher::kMaxShortlist) + 1;
    for (int i = 1; i <= kJobs; ++i) {
        w.pool.add(a_job(i).priority(kJobs - i));
        w.facts.at(i).results_of_user = 1;
    }
    const MatchResult r = w.match();
    EXPECT_THAT(r.jobs, IsEmpty());
    EXPECT_EQ(w.facts.loads, Matcher::kMaxLoads);
    EXPECT_EQ(w.trace.of(1)->fate, Reason::kOneResultPerUser);
    EXPECT_EQ(w.trace.of(kJobs)->fate, Reason::kLookUpLimit);
    const auto count = [&](Reason reason) { return r.stats.reasons[static_cast<std::size_t>(reason)].count; };
    EXPECT_EQ(count(Reason::kNotNeeded), 0u);
    EXPECT_EQ(count(Reason::kOneResultPerUser) + count(Reason::kLookUpLimit), static_cast<std::uint32_t>(kJobs));
    EXPECT_GT(count(Reason::kOneResultPerUser), 7000u);
}

TEST_F(Seed002, CommittedElsewhereMeanwhile) {
    w.app(1).homogeneous_redundancy = HrType::kFine;
    fill(2);
    w.facts.at(1).hr_class = 385;
    w.facts.at(2).hr_class = 277;
    EXPECT_THAT(w.sent(), ElementsAre(2));
}

TEST_F(Seed002, NStopsScanWhenRequestIsSatisfied) {
    fill(1000);
    w.params.mm_min_slots = 100;
    EXPECT_EQ(w.match().stats.slots_scanned, 100u);
}

TEST_F(Seed002, NDoesNotStopAnUnsatisfiedScan) {
    for (int i = 1; i <= 400; ++i) w.pool.add(a_job(i).ram(i % 100 == 0 ? 1 : 1e12));
    w.params.mm_min_slots = 10;
    w.want(ProcType::kCpu, 3 * 3600, 3);
    const MatchResult r = w.match();
    EXPECT_THAT(r.jobs, SizeIs(3));
    EXPECT_GE(r.stats.slots_scanned, 201u);
    EXPECT_LT(r.stats.slots_scanned, 400u);
}

TEST_F(Seed002, NCountsTheWholeSetNotItsMembers) {
    // Each job alone is enough, but together they don't fit: the scan goes on until a set satisfies the request.
    w.host = a_host().disk(10);
    w.want(ProcType::kCpu, 7200, 2);
    for (int i = 1; i <= 99; ++i) w.pool.add(a_job(i).disk(8));
    w.pool.add(a_job(100).disk(1));
    w.params.mm_min_slots = 5;
    EXPECT_THAT(w.sent(), SizeIs(2));
}

// "if (!job_feasible_slow(j)) … continue": a job that fails its slow check is not in x, so that the scan does not end
// at N with it, but goes on from the next slot.
TEST_F(Seed002, NWaitsForTheSlowChecks) {
    w.params.one_result_per_user_per_wu = true;
    w.params.mm_min_slots = 100;
    fill(3000);
    const std::uint32_t start = w.match().jobs.front().ref.index;
    const std::uint32_t good = (start + 2000) % 3000;  // the 2,001st that is looked at
    for (int i = 1; i <= 3000; ++i) w.facts.at(i).results_of_user = static_cast<std::uint32_t>(i) == good + 1 ? 0 : 1;
    w.pool.slots[start].state = SlotState::kPresent;
    w.facts.loads = 0;
    const MatchResult r = w.match();
    ASSERT_THAT(r.jobs, SizeIs(1));
    EXPECT_EQ(r.jobs.front().ref.index, good);
    EXPECT_GT(r.stats.slots_scanned, 2000u);
    EXPECT_LE(w.facts.loads, Matcher::kMaxLoads);
}

TEST_F(Seed002, MBoundsASetThatFailsSlowChecks) {
    w.params.one_result_per_user_per_wu = true;
    w.params.mm_min_slots = 100;
    w.params.mm_max_slots = 700;
    fill(3000);
    for (int i = 1; i <= 3000; ++i) w.facts.at(i).results_of_user = 1;
    const MatchResult r = w.match();
    EXPECT_THAT(r.jobs, IsEmpty());
    EXPECT_EQ(r.stats.slots_scanned, 700u);
    EXPECT_EQ(r.stats.reasons[static_cast<std::size_t>(Reason::kOneResultPerUser)].count, 700u)
        << "each is counted once, however often the scan asked";
}

// What passes stays; the scan goes on for the rest only.
TEST_F(Seed002, NGoesOnForWhatASetLacks) {
    w.params.one_result_per_user_per_wu = true;
    w.params.mm_min_slots = 10;
    w.want(ProcType::kCpu, 4 * 3600, 4);
    fill(1000);
    for (int i = 1; i <= 1000; ++i) w.facts.at(i).results_of_user = i % 100 == 0 ? 0 : 1;
    const MatchResult r = w.match();
    EXPECT_THAT(r.jobs, SizeIs(4));
    EXPECT_GE(r.stats.slots_scanned, 301u);
    EXPECT_LT(r.stats.slots_scanned, 1000u);
}

TEST_F(Seed002, MBoundsTheScan) {
    for (int i = 1; i <= 1000; ++i) w.pool.add(a_job(i).ram(1e12));
    w.params.mm_max_slots = 50;
    EXPECT_EQ(w.match().stats.slots_scanned, 50u);
}

TEST_F(Seed002, LWarnsWhenManySlotsAreLocked) {
    fill(5);
    for (int i = 0; i < 4; ++i) w.pool.add_locked();
    w.params.mm_max_locked = 5;
    EXPECT_FALSE(w.match().stats.locked_over_limit);
    w.pool.slots[0].state = SlotState::kClaimed;
    const MatchResult r = w.match();
    EXPECT_TRUE(r.stats.locked_over_limit);
    EXPECT_GE(r.stats.slots_locked, 5u);
    w.params.mm_max_locked = 0;
    EXPECT_FALSE(w.match().stats.locked_over_limit) << "0: never";
}

TEST_F(Seed002, LMinusOneIsTenthOfArray) {
    fill(36);
    for (int i = 0; i < 4; ++i) w.pool.add_locked();
    w.params.mm_max_locked = -1;
    EXPECT_TRUE(w.match().stats.locked_over_limit);
}

TEST_F(Seed002, TheScanStartsAtRandomAndWrapsAround) {
    fill(40);
    w.params.mm_max_slots = 1;
    std::set<Id> firsts;
    for (w.seed = 1; w.seed <= 300; ++w.seed) {
        for (auto& s : w.pool.slots) s.state = SlotState::kPresent;
        for (Id id : w.sent()) firsts.insert(id);
    }
    EXPECT_GT(firsts.size(), 35u);
    w.params.mm_max_slots = 0;
    EXPECT_EQ(w.match().stats.slots_scanned, 40u);
}

TEST_F(Seed002, EmptyAndLockedSlotsAreSkipped) {
    w.pool.add_empty();
    w.pool.add_locked();
    w.pool.add(a_job(3));
    EXPECT_THAT(w.sent(), ElementsAre(3));
}

// "while x minus lowest-val element satisfies the request: remove it": what came first in the scan and was enough goes
// back when better jobs come later.
TEST_F(Seed002, BetterJobsFoundLaterDisplaceTheLeastValuable) {
    for (int i = 1; i <= 20; ++i) w.pool.add(a_job(i).priority(i));
    w.want(ProcType::kCpu, 7200, 2);
    EXPECT_THAT(w.sent(), ElementsAre(20, 19));
    EXPECT_EQ(w.trace.of(1)->fate, Reason::kNotNeeded);
    EXPECT_EQ(w.pool.claimed.size(), 2u) << "nothing else is held";
}

// "while !job_set_feasible(x): remove lowest-value element".
TEST_F(Seed002, AnInfeasibleSetShedsItsLeastValuableMember) {
    w.host = a_host().disk(10);
    w.want(ProcType::kCpu, 1e6, 3);
    w.pool.add(a_job(1).disk(3).priority(1));
    w.pool.add(a_job(2).disk(5).priority(2));
    w.pool.add(a_job(3).disk(4).priority(3));
    EXPECT_THAT(w.sent(), ElementsAre(3, 2));
}

TEST_F(Seed002, JobThatFailsSlowCheckIsUnlocked) {
    w.params.one_result_per_host_per_wu = true;
    fill(1);
    w.facts.at(1).results_of_host = 1;
    EXPECT_THAT(w.sent(), IsEmpty());
    EXPECT_EQ(w.pool.slots[0].state, SlotState::kPresent);
    EXPECT_THAT(w.pool.claimed, IsEmpty());
}

TEST_F(Seed002, OnlyTheFinalSetIsClaimed) {
    fill(100);
    w.want(ProcType::kCpu, 3600, 1);
    const MatchResult r = w.match();
    EXPECT_EQ(w.pool.claimed.size(), r.jobs.size());
}

TEST_F(Seed002, TheRequestIsSatisfiedInSecondsAndInstances) {
    fill(20);
    w.want(ProcType::kCpu, 2.5 * 3600, 1);
    EXPECT_THAT(w.match().jobs, SizeIs(3));
    w.want(ProcType::kCpu, 1, 4);
    EXPECT_THAT(w.match().jobs, SizeIs(4));
}

// Wants: what is sent is at least what was asked for and less than one job more.
TEST_F(Seed002, NeverMoreThanOneJobTooMuch) {
    for (double asked = 1000; asked < 30000; asked += 777) {
        MatchWorld m;
        m.params.compat_level = 1;
        for (int i = 1; i <= 60; ++i) m.pool.add(a_job(i).flops(flops(100 * (1 + i % 17))));
        m.want(ProcType::kCpu, asked, 0);
        double sent = 0, longest = 0;
        for (const Chosen& c : m.match().jobs) {
            sent += c.estimated_runtime;
            longest = std::max(longest, c.estimated_runtime);
        }
        EXPECT_GE(sent, asked);
        EXPECT_LT(sent, asked + longest);
    }
}

}  // namespace
}  // namespace sluice::test
