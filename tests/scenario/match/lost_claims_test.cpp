// SPDX-License-Identifier: LGPL-3.0-or-later
// Seed 002 where other schedulers are quicker with what a scan found.
#include "tests/support/match_world.h"

namespace sluice::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

struct LostClaims : testing::Test {
    MatchWorld w;
    LostClaims() { w.params.compat_level = 1; }
    void fill(int n) {
        for (int i = 1; i <= n; ++i) w.pool.add(a_job(i));
    }
};

// Seed 002 locks a job before it joins x; here claims come at the end, and those that other schedulers were quicker
// with are made up for.
TEST_F(LostClaims, JobsLostToOthersAreReplacedBehindN) {
    w.params.mm_min_slots = 100;
    w.want(ProcType::kCpu, 2 * 3600, 2);
    fill(1000);
    const std::uint32_t start = [&] {
        MatchWorld same;
        same.params.compat_level = 1;
        for (int i = 1; i <= 1000; ++i) same.pool.add(a_job(i));
        return same.match().jobs.front().ref.index;
    }();
    for (std::uint32_t i = 0; i < 150; ++i) w.pool.lost.insert((start + i) % 1000 + 1);
    const MatchResult r = w.match();
    ASSERT_THAT(r.jobs, SizeIs(2));
    EXPECT_EQ(r.jobs[0].ref.index, (start + 150) % 1000);
    EXPECT_EQ(r.jobs[1].ref.index, (start + 151) % 1000);
    EXPECT_GE(r.stats.slots_scanned, 152u);
    EXPECT_LT(r.stats.slots_scanned, 400u);
    EXPECT_EQ(r.stats.claims_lost, 150u);
    EXPECT_LE(w.facts.loads, Matcher::kMaxLoads);
}

TEST_F(LostClaims, MEndsAScanThatLosesEveryClaim) {
    w.params.mm_min_slots = 100;
    fill(1000);
    for (int i = 1; i <= 1000; ++i) w.pool.lost.insert(i);
    for (const int most : {200, 1000}) {
        w.params.mm_max_slots = most;
        w.facts.loads = 0;
        const MatchResult r = w.match();
        EXPECT_THAT(r.jobs, IsEmpty());
        if (most == 200)
            EXPECT_EQ(r.stats.slots_scanned, 200u);
        else
            EXPECT_EQ(w.facts.loads, Matcher::kMaxLoads);
    }
}

}  // namespace
}  // namespace sluice::test
