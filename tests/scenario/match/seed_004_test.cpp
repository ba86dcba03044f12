// SPDX-License-Identifier: LGPL-3.0-or-later
// Seed 004 (batch acceleration), the part "Job selection".
#include "tests/support/match_world.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Seed004 : testing::Test {
    MatchWorld w;
    Seed004() {
        w.params.batch_accel = true;
        w.app(1).n_size_classes = 1;
    }
};

TEST_F(Seed004, LowTurnaroundHostsGetHighPriorityJobsFirst) {
    w.host = a_host().low_turnaround();
    w.pool.add(a_job(1));
    w.pool.add(a_job(2).wu_priority(1));
    EXPECT_THAT(w.sent(), ElementsAre(2));
}

TEST_F(Seed004, OtherHostsAreNotSentThem) {
    w.pool.add(a_job(1).wu_priority(1));
    EXPECT_THAT(w.sent(), IsEmpty());
    EXPECT_EQ(w.trace.of(1)->fate, Reason::kReservedForLtt);
}

TEST_F(Seed004, OrdinaryJobsGoToAnyHost) {
    w.pool.add(a_job(1));
    EXPECT_THAT(w.sent(), ElementsAre(1));
    w.host = a_host().low_turnaround();
    w.pool.slots[0].state = SlotState::kPresent;
    EXPECT_THAT(w.sent(), ElementsAre(1));
}

TEST_F(Seed004, OnlyIfTheAppIsAccelerable) {
    w.app(1).n_size_classes = 0;
    w.pool.add(a_job(1).wu_priority(1));
    EXPECT_THAT(w.sent(), ElementsAre(1));
}

TEST_F(Seed004, LetPrioritiesAreNeverHighPriority) {
    w.pool.add(a_job(1).wu_priority(-1800000000).priority(-1800000000));
    EXPECT_THAT(w.sent(), ElementsAre(1));
}

struct Level1 : Seed004 {
    Level1() {
        w.params.compat_level = 1;
        HostAppVersion v;
        v.app_version_id = 11;
        v.turnaround.n = 5;
        w.host.versions.push_back(v);
    }
};

TEST_F(Level1, TheTailDoesNotStarveWithoutLttHosts) {
    w.params.ltt_reserve_timeout = 3600;
    w.pool.add(a_job(1).wu_priority(1).time_added(static_cast<int>(w.now) - 3599));
    EXPECT_THAT(w.sent(), IsEmpty());
    w.pool.slots[0].job.time_added -= 1;
    EXPECT_THAT(w.sent(), ElementsAre(1));
}

TEST_F(Seed004, TimeOutThatIsSetHoldsLevel0Too) {
    w.params.ltt_reserve_timeout = 3600;
    w.pool.add(a_job(1).wu_priority(1).time_added(static_cast<int>(w.now) - 3599));
    EXPECT_THAT(w.sent(), IsEmpty());
    w.pool.slots[0].job.time_added -= 1;
    EXPECT_THAT(w.sent(), ElementsAre(1));
}

TEST_F(Level1, WithoutATimeOutTheReserveHolds) {
    w.pool.add(a_job(1).wu_priority(1).time_added(1));
    EXPECT_THAT(w.sent(), IsEmpty());
}

TEST_F(Level1, AHostWithoutHistoryIsNotCalledSlow) {
    w.host.versions.clear();
    w.pool.add(a_job(1).wu_priority(1));
    EXPECT_THAT(w.sent(), ElementsAre(1));
}

TEST_F(Level1, ButItGetsNoBonusEither) {
    w.host.versions.clear();
    w.pool.add(a_job(1).wu_priority(1));
    w.match();
    EXPECT_EQ(w.trace.of(1)->points.at("ltt_match"), 0);
}

TEST_F(Level1, AQuicklyReturnedVersionCounts) {
    w.host.low_turnaround_versions[11] = true;
    w.pool.add(a_job(1));
    w.pool.add(a_job(2).wu_priority(1));
    EXPECT_THAT(w.sent(), ElementsAre(2));
    EXPECT_EQ(w.trace.of(2)->points.at("ltt_match"), 10);
}

TEST_F(Level1, ALateReturnedVersionDoesNotCount) {
    w.host.row.error_rate = 1;
    w.host.low_turnaround_versions = {{11, false}, {99, true}};
    w.pool.add(a_job(1).wu_priority(1));
    EXPECT_THAT(w.sent(), IsEmpty());
    EXPECT_EQ(w.trace.of(1)->fate, Reason::kReservedForLtt);
}

/// "a host succeeds with CPU versions but fails with GPU versions": the same job, by the resource that asks.
TEST_F(Level1, QuickOnCpuAndBadOnGpu) {
    w.host = a_host().nvidia().low_turnaround();
    w.tables.versions.push_back(a_version(12, 1, "cuda"));
    w.host.low_turnaround_versions = {{11, true}, {12, false}};
    w.pool.add(a_job(1).wu_priority(1));
    w.wanted = {};
    w.want(ProcType::kNvidia, 1, 1);
    EXPECT_THAT(w.sent(), IsEmpty());
    w.wanted = {};
    w.want(ProcType::kCpu, 1, 1);
    EXPECT_THAT(w.sent(), ElementsAre(1));
}

TEST_F(Seed004, VerdictsOnVersionsAreNotUpstreams) {
    w.host.low_turnaround_versions[11] = true;
    w.pool.add(a_job(1).wu_priority(1));
    EXPECT_THAT(w.sent(), IsEmpty()) << "level 0 knows the host's flag only";
}

}  // namespace
}  // namespace sluice::test
