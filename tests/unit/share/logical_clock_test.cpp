// SPDX-License-Identifier: LGPL-3.0-or-later
// Expected values: the rules of seed 000, and of the settled rule as its header states it, worked out by hand.
#include "sluice/share/logical_clock.h"

#include <cmath>
#include <random>
#include <utility>

namespace sluice::share {
namespace {

constexpr UserId kAnn = 1, kBob = 2, kEve = 3;

LogicalClock seed_clock() {
    LogicalClock clock(ShareRule::kSeed);
    clock.set_quota(0, kAnn, 1);
    clock.set_quota(0, kBob, 3);
    return clock;
}

TEST(SeedRule, SubmissionChargesTheUserByHisShare) {
    LogicalClock clock = seed_clock();
    clock.submit(100, kAnn, 1, 10);
    EXPECT_EQ(clock.batch(1).start, 100) << "LST is at least the current time";
    EXPECT_EQ(clock.batch(1).end, 110) << "LET = LST + R";
    EXPECT_EQ(clock.users().at(kAnn).lst, 100 + 10 / 0.25);
    clock.submit(101, kAnn, 2, 5);
    EXPECT_EQ(clock.batch(2).start, 140);
    EXPECT_EQ(clock.batch(2).end, 145);
    clock.submit(102, kBob, 3, 30);
    EXPECT_EQ(clock.batch(3).end, 132);
    EXPECT_EQ(clock.users().at(kBob).lst, 102 + 30 / 0.75);
    EXPECT_EQ(clock.order(), (std::vector<BatchId>{1, 3, 2}));
}

TEST(SeedRule, IdleTimeIsNotSaved) {
    LogicalClock clock = seed_clock();
    clock.submit(0, kAnn, 1, 1);
    clock.submit(1000, kAnn, 2, 1);
    EXPECT_EQ(clock.batch(2).start, 1000);
}

TEST(SeedRule, ShortBeforeLong) {
    LogicalClock clock = seed_clock();
    clock.submit(0, kAnn, 1, 1000);
    clock.submit(10, kBob, 2, 5);
    EXPECT_EQ(clock.order(), (std::vector<BatchId>{2, 1}));
}

TEST(SeedRule, MovingGivesTheTagAndShiftsOthers) {
    LogicalClock clock = seed_clock();
    clock.submit(0, kAnn, 1, 100);  // S 0
    clock.submit(0, kAnn, 2, 20);   // S 400
    clock.submit(0, kAnn, 3, 10);   // S 480
    clock.submit(0, kAnn, 4, 10);   // S 520
    const double lst = clock.users().at(kAnn).lst;
    clock.move(kAnn, 3, 1);
    EXPECT_EQ(clock.batch(3).start, 0);
    EXPECT_EQ(clock.batch(3).end, 10);
    EXPECT_EQ(clock.batch(1).start, 40);
    EXPECT_EQ(clock.batch(1).end, 140);
    EXPECT_EQ(clock.batch(2).start, 440);
    EXPECT_EQ(clock.batch(2).end, 460);
    EXPECT_EQ(clock.batch(4).start, 520) << "behind both: stays";
    EXPECT_EQ(clock.users().at(kAnn).lst, lst);
    clock.move(kAnn, 3, 2);
    EXPECT_EQ(clock.batch(3).start, 0) << "it goes first already";
}

TEST(SeedRule, MeasuredWorkChangesNothing) {
    LogicalClock clock = seed_clock();
    clock.submit(0, kAnn, 1, 100);
    clock.finish(1, 1);
    EXPECT_EQ(clock.users().at(kAnn).lst, 400);
    EXPECT_EQ(clock.batch(1).end, 100);
    EXPECT_TRUE(clock.order().empty());
}

TEST(SeedRule, SingleJobsAreBatchesOfOne) {
    LogicalClock clock = seed_clock();
    clock.stream(100, kAnn, true);
    clock.charge(100, kAnn, 10);
    EXPECT_EQ(clock.users().at(kAnn).lst, 100 + 10 / 0.25) << "as a batch of ten seconds";
    clock.charge(500, kAnn, 1);
    EXPECT_EQ(clock.users().at(kAnn).lst, 500 + 1 / 0.25) << "LST is at least the current time";
    EXPECT_THROW(clock.charge(500, kEve, 1), ShareError) << "no quota";
}

LogicalClock settled_clock(double clamp) {
    LogicalClock clock(ShareRule::kSettled, clamp);
    clock.set_quota(0, kAnn, 1);
    clock.set_quota(0, kBob, 1);
    return clock;
}

/// What the lab measured as weeks of starvation: the others used idle capacity for two months before the newcomer came.
TEST(SettledRule, WaitingSingleJobsAreUnfinishedWork) {
    LogicalClock clock = settled_clock(100);
    clock.stream(1000, kAnn, true);
    const double entered = clock.users().at(kAnn).lst;
    clock.charge(1000, kAnn, 500);
    EXPECT_EQ(clock.users().at(kAnn).lst, entered + 500 / 0.5);
    clock.charge(1001, kAnn, -100);  // it took less than was estimated
    EXPECT_EQ(clock.users().at(kAnn).lst, entered + 400 / 0.5);
    clock.submit(1002, kBob, 1, 10);
    EXPECT_EQ(clock.batch(1).start, entered + 400 / 0.5 - 100) << "V is Ann's start time: Bob enters before it";
    clock.finish(1, 10);
    // Nothing of hers waits; Bob goes on alone, and she comes back with no more than the clamp.
    clock.stream(1003, kAnn, false);
    clock.submit(1004, kBob, 2, 5000);
    clock.submit(1005, kBob, 3, 5000);
    clock.finish(2, 5000);
    clock.stream(1006, kAnn, true);
    EXPECT_EQ(clock.users().at(kAnn).lst, clock.batch(3).start - 100);
    clock.leave(1007, kAnn);
    EXPECT_FALSE(clock.users().at(kAnn).streaming);
}

TEST(SettledRule, ANewcomerHasCreditForTheClampOnly) {
    const auto behind = [](ShareRule rule) {
        LogicalClock clock(rule, 86400);
        clock.set_quota(0, kAnn, 1);
        clock.set_quota(0, kBob, 1);
        for (int day = 0; day < 60; ++day) {
            clock.submit(day * 86400.0, kAnn, day + 1, 86400);  // alone: the whole project
            if (day < 59) clock.finish(day + 1, 86400);
        }
        clock.set_quota(60 * 86400.0, kEve, 1);
        clock.submit(60 * 86400.0, kEve, 1000, 3600);
        return clock.batch(60).start - clock.batch(1000).start;
    };
    EXPECT_GT(behind(ShareRule::kSeed), 50 * 86400.0) << "the seed's rule lets Eve go first for weeks";
    EXPECT_EQ(behind(ShareRule::kSettled), 86400);
}

// The last jobs of a batch may be out for days. Who comes then must not be let in where the batch began.
TEST(SettledRule, ASentBatchHoldsNoDoorOpen) {
    const auto start_of_newcomer = [](bool sent) {
        LogicalClock clock(ShareRule::kSettled, 100);
        clock.set_quota(0, kAnn, 1);
        clock.set_quota(0, kBob, 1);
        clock.submit(0, kAnn, 1, 500);
        clock.submit(0, kBob, 2, 500);
        for (int i = 0; i < 10; ++i) {
            clock.submit(1, kBob, 10 + i, 500);
            clock.finish(i == 0 ? 2 : 9 + i, 500);
        }
        if (sent) clock.all_sent(2, {1});
        const ClockState stored = clock.state();
        LogicalClock later(ShareRule::kSettled, 100, stored);  // submissions come from other programs
        later.set_quota(3, kEve, 1);
        later.submit(3, kEve, 100, 1);
        return std::pair(later.batch(100).start, later.batch(19).start);
    };
    const auto [before, bobs] = start_of_newcomer(false);
    EXPECT_LT(before, bobs - 5000) << "Ann's batch waits: she is as far behind, too";
    const auto [after, same] = start_of_newcomer(true);
    EXPECT_EQ(after, same - 100);
}

TEST(SettledRule, NothingIsForgiven) {
    LogicalClock clock = settled_clock(10);
    clock.submit(0, kAnn, 1, 1000);
    clock.submit(0, kBob, 2, 1);
    clock.finish(1, 1000);
    const double debt = clock.users().at(kAnn).lst;
    clock.submit(50, kAnn, 3, 1);
    EXPECT_EQ(clock.batch(3).start, debt);
}

TEST(SettledRule, MeasuredWorkReplacesTheEstimate) {
    LogicalClock clock = settled_clock(0);
    clock.submit(0, kAnn, 1, 100);
    clock.submit(0, kAnn, 2, 10);
    const double start = clock.batch(2).start, lst = clock.users().at(kAnn).lst;
    clock.settle(1, 40);
    EXPECT_EQ(clock.batch(1).end, clock.batch(1).start + 40);
    EXPECT_EQ(clock.batch(2).start, start - 120);
    EXPECT_EQ(clock.batch(2).end, start - 110);
    EXPECT_EQ(clock.users().at(kAnn).lst, lst - 120);
    clock.finish(1, 130);
    EXPECT_EQ(clock.users().at(kAnn).lst, lst + 60);
}

TEST(SettledRule, LyingChangesNoAccount) {
    const auto account = [](double factor) {
        LogicalClock clock = settled_clock(3600);
        std::mt19937 random(7);
        for (int i = 1; i <= 50; ++i) {
            const double real = 100 + static_cast<double>(random() % 1000);
            clock.submit(i * 60.0, kAnn, i, real * factor);
            clock.finish(i, real);
        }
        return clock.users().at(kAnn).lst;
    };
    EXPECT_NEAR(account(0.1), account(1), 1e-6);
    EXPECT_NEAR(account(10), account(1), 1e-6);
}

TEST(SettledRule, UnusedReservationsReturnAtTheirPrice) {
    LogicalClock clock(ShareRule::kSettled, 0);
    clock.set_quota(0, kAnn, 1);
    clock.submit(0, kAnn, 1, 1000);  // alone: charged 1000
    for (UserId u = 10; u < 19; ++u) clock.set_quota(1, u, 1);
    clock.finish(1, 0);
    EXPECT_EQ(clock.users().at(kAnn).lst, 0);
}

TEST(SettledRule, AQuotaRescalesTheDebt) {
    LogicalClock clock = settled_clock(0);
    clock.submit(0, kBob, 1, 10);   // S 0: V for Ann
    clock.submit(0, kAnn, 2, 100);  // share .5: LST 200
    clock.set_quota(0, kAnn, 3);    // share .75
    EXPECT_DOUBLE_EQ(clock.users().at(kAnn).lst, 200 * 0.5 / 0.75);
}

TEST(SettledRule, AnotherSpeedOfProjectChangesSecondsNotWork) {
    LogicalClock clock = settled_clock(0);
    clock.submit(0, kBob, 1, 10);
    clock.finish(1, 10);
    clock.submit(0, kBob, 2, 10);  // S 20: V for Ann, who enters there
    clock.submit(0, kAnn, 3, 100);
    clock.submit(0, kAnn, 4, 50);
    clock.rescale(0.1);
    EXPECT_DOUBLE_EQ(clock.batch(3).end, 20 + 10);
    EXPECT_DOUBLE_EQ(clock.batch(4).start, 20 + 20);
    EXPECT_DOUBLE_EQ(clock.batch(4).seconds, 5);
    EXPECT_DOUBLE_EQ(clock.users().at(kAnn).lst, 20 + 30);
    EXPECT_THROW(clock.rescale(0), ShareError);
    LogicalClock seed = seed_clock();
    seed.submit(1000, kAnn, 1, 100);
    seed.rescale(0.1);
    EXPECT_EQ(seed.batch(1).end, 1100);
}

TEST(SettledRule, MovingKeepsTheUsersTotal) {
    LogicalClock clock = settled_clock(0);
    clock.submit(0, kAnn, 1, 100);
    clock.submit(0, kAnn, 2, 10);
    clock.move(kAnn, 2, 1);
    clock.finish(1, 100);
    clock.finish(2, 10);
    EXPECT_EQ(clock.users().at(kAnn).lst, 220);
}

TEST(LogicalClock, LeavingGivesShareToOthersAndIsRemembered) {
    LogicalClock clock = seed_clock();
    clock.submit(0, kAnn, 1, 100);
    clock.leave(10, kAnn);
    EXPECT_EQ(clock.share(kBob), 1);
    EXPECT_TRUE(clock.order().empty());
    EXPECT_THROW(clock.submit(20, kAnn, 2, 1), ShareError);
    clock.set_quota(30, kAnn, 1);
    clock.submit(30, kAnn, 2, 1);
    EXPECT_EQ(clock.batch(2).start, 400) << "the debt is his own";
}

TEST(LogicalClock, NonsenseIsRefusedAndChangesNothing) {
    LogicalClock clock = seed_clock();
    clock.submit(0, kAnn, 1, 100);
    clock.submit(0, kBob, 2, 100);
    const double nan = std::nan("");
    EXPECT_THROW(clock.set_quota(0, kAnn, 0), ShareError);
    EXPECT_THROW(clock.set_quota(0, kAnn, -1), ShareError);
    EXPECT_THROW(clock.set_quota(0, kAnn, nan), ShareError);
    EXPECT_THROW(clock.submit(0, kEve, 3, 1), ShareError);
    EXPECT_THROW(clock.submit(0, kAnn, 1, 1), ShareError);
    EXPECT_THROW(clock.submit(0, kAnn, 3, 0), ShareError);
    EXPECT_THROW(clock.submit(0, kAnn, 3, nan), ShareError);
    EXPECT_THROW(clock.move(kAnn, 1, 1), ShareError);
    EXPECT_THROW(clock.move(kAnn, 1, 2), ShareError);
    EXPECT_THROW(clock.move(kAnn, 9, 1), ShareError);
    EXPECT_THROW(clock.finish(9, 1), ShareError);
    EXPECT_THROW(clock.finish(1, -1), ShareError);
    EXPECT_EQ(clock.users().at(kAnn).lst, 400);
    EXPECT_EQ(clock.order(), (std::vector<BatchId>{1, 2}));
    clock.finish(1, 1);
    EXPECT_THROW(clock.finish(1, 1), ShareError);
}

TEST(LogicalClock, WhatUpstreamHasChargedIsTakenOver) {
    LogicalClock clock = seed_clock();
    clock.submit(0, kAnn, 1, 100);  // LST 400
    clock.adopt(kAnn, 2, 10, 440);  // as adjust_user_priority left it
    EXPECT_EQ(clock.batch(2).start, 400);
    EXPECT_EQ(clock.batch(2).end, 410);
    EXPECT_EQ(clock.users().at(kAnn).lst, 440);
    EXPECT_THROW(clock.adopt(kAnn, 2, 10, 440), ShareError);
    EXPECT_THROW(clock.adopt(kEve, 3, 10, 440), ShareError);
}

/// One random event; false: the clock refused it.
bool random_event(LogicalClock& clock, double now, std::minstd_rand& rng, BatchId next) {
    const auto below = [&](int n) { return static_cast<std::int64_t>(rng() % static_cast<unsigned>(n)); };
    const UserId user = 1 + below(3);
    const BatchId one = 1 + below(static_cast<int>(next)), other = 1 + below(static_cast<int>(next));
    const double seconds = static_cast<double>(1 + below(1000));
    try {
        switch (below(7)) {
            case 0: clock.set_quota(now, user, static_cast<double>(1 + below(5))); break;
            case 1: clock.settle(one, seconds); break;
            case 2: clock.finish(one, seconds); break;
            case 3: clock.move(user, one, other); break;
            case 4:
                if (below(5) == 0) clock.leave(now, user);
                break;
            default: clock.submit(now, user, next, seconds);
        }
        return true;
    } catch (const ShareError&) {
        return false;
    }
}

// A program that is killed after any event and started again goes on from what was stored, finished batches left out.
TEST(LogicalClock, ContinuesFromItsStoredState) {
    for (const ShareRule rule : {ShareRule::kSeed, ShareRule::kSettled}) {
        for (unsigned seed = 1; seed <= 20; ++seed) {
            std::minstd_rand events(seed), deaths(seed + 100);
            LogicalClock whole(rule, 500), restored(rule, 500);
            int accepted = 0;
            for (int i = 0; i < 200; ++i) {
                std::minstd_rand same = events;
                const bool done = random_event(whole, i * 10, events, i + 1);
                ASSERT_EQ(random_event(restored, i * 10, same, i + 1), done) << "seed " << seed << ", event " << i;
                accepted += done ? 1 : 0;
                if (deaths() % 3 == 0) {
                    ClockState state = restored.state();
                    std::erase_if(state.batches, [](const BatchTags& b) { return b.finished; });
                    restored = LogicalClock(rule, 500, state);
                }
                ASSERT_EQ(restored.order(), whole.order());
                for (const BatchId b : whole.order()) ASSERT_DOUBLE_EQ(restored.batch(b).end, whole.batch(b).end);
                for (const auto& [user, tags] : whole.users()) {
                    if (!tags.known) continue;
                    ASSERT_DOUBLE_EQ(restored.users().at(user).lst, tags.lst);
                }
            }
            EXPECT_GT(accepted, 80);
        }
    }
}

}  // namespace
}  // namespace sluice::share
