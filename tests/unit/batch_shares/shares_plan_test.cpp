// SPDX-License-Identifier: LGPL-3.0-or-later
// Who is admitted to the logical clock, with which R, and what measured work makes of it. Expected values are worked
// out by hand from seed 000 and from what the headers promise.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "daemons/batches/shares_plan.h"

namespace sluice {
namespace {

constexpr double kFlops = 1e12, kNow = 1.8e9;
constexpr Id kAnn = 1, kBob = 2;

ShareBook a_book(share::ShareRule rule = share::ShareRule::kSettled) {
    ShareBook book{share::LogicalClock(rule, 86400), {}, {{kAnn, 1}, {kBob, 3}}};
    book.clock.set_quota(kNow, kAnn, 1);
    book.clock.set_quota(kNow, kBob, 3);
    return book;
}
/// A batch of ten jobs of 1e15 operations: 1,000 s of the project each.
BatchWork ten_jobs(Id id, Id user) {
    BatchWork w;
    w.id = id;
    w.user_id = user;
    w.open = 10e15;
    return w;
}
/// After `n` of them, each of which took `factor` times what was estimated.
BatchWork after(BatchWork w, int n, double factor) {
    w.open -= n * 1e15;
    w.measured = w.measured_successes = n * factor * 1e15;
    w.estimated_successes = n * 1e15;
    w.successes = n;
    return w;
}
double lst(const ShareBook& book, Id user) { return book.clock.users().at(user).lst; }

TEST(RunTime, IsOfTheWholeProject) {
    EXPECT_DOUBLE_EQ(run_time(ten_jobs(1, kAnn), kFlops), 10000);
    EXPECT_DOUBLE_EQ(run_time(ten_jobs(1, kAnn), 0), 10e15 / kLeastProjectFlops) << "no credit yet";
}

TEST(RunTime, MeasuredWorkTakesTheEstimatesPlace) {
    // Five done at twice the estimate; with five jobs' weight for "estimates are right" the rest counts 1.5 times.
    EXPECT_DOUBLE_EQ(run_time(after(ten_jobs(1, kAnn), 5, 2), kFlops), 10000 + 5000 * 1.5);
    BatchWork w = after(ten_jobs(1, kAnn), 10, 2);
    w.state = BatchState::kComplete;
    EXPECT_DOUBLE_EQ(run_time(w, kFlops), 20000) << "of what is over only measured work counts";
    w.measured += 1e15;  // an error, or an instance more
    EXPECT_DOUBLE_EQ(run_time(w, kFlops), 21000) << "its owner pays for it";
    w.lost = 1e15;
    EXPECT_DOUBLE_EQ(run_time(w, kFlops), 21000 + 1000 * (20.0 + 5) / (10 + 5)) << "who loses jobs gains nothing";
}

TEST(RunTime, IsBoundedWhateverIsSaid) {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    for (const double open : {0.0, -1.0, nan}) {
        BatchWork w;
        w.open = open;
        EXPECT_EQ(run_time(w, kFlops), kLeastSeconds) << open;
    }
    BatchWork w;
    w.open = 1e300;
    EXPECT_EQ(run_time(w, kFlops), kMostSeconds);
    w = after(ten_jobs(1, kAnn), 5, 1);
    w.measured_successes = inf;
    w.lost = -inf;
    EXPECT_TRUE(std::isfinite(run_time(w, kFlops)));
}

// Half-life of a week: a steady speed of 1 is said to be .5 after a week, .094 after a day.
TEST(RunTime, AYoungProjectsSpeedIsExtrapolated) {
    const double since = kNow - 100 * 86400.0;
    const auto said_after = [](double days) { return 1 - std::exp2(-days / 7); };
    for (const double days : {1.0, 2.0, 7.0, 30.0})
        EXPECT_NEAR(flops_of({kFlops * said_after(days), since}, since + days * 86400), kFlops, 1e-6 * kFlops);
    EXPECT_EQ(flops_of({kFlops, since}, since + 60), flops_of({kFlops, since}, since + 86400))
        << "few jobs tell little";
    EXPECT_EQ(flops_of({kFlops, since}, since - 1e9), flops_of({kFlops, since}, since + 86400)) << "a wrong clock";
    EXPECT_EQ(flops_of({}, kNow), 0);
}

TEST(SharePlan, PassTellsClockWhatIsAllSent) {
    const auto newcomer = [](bool waits) {
        ShareBook book = a_book();
        BatchWork first = ten_jobs(1, kAnn), second = ten_jobs(2, kBob);
        first.waits = second.waits = true;
        admit(book, first, kFlops, kNow);
        for (int i = 0; i < 10; ++i) book.clock.charge(kNow, kBob, 1e5);
        admit(book, second, kFlops, kNow);
        first.waits = waits;
        first.known = first.unfinished = second.known = second.unfinished = true;
        settle_all(book, {first, second}, kFlops, kNow);
        book.clock.set_quota(kNow, 77, 1);
        return std::pair(book.clock.users().at(77).lst, book.clock.batch(2).start);
    };
    const auto [lst_before, bobs] = newcomer(true);
    EXPECT_LT(lst_before, bobs - 1e6) << "Ann's batch waits for longer";
    const auto [lst_after, same] = newcomer(false);
    EXPECT_DOUBLE_EQ(lst_after, same - 86400) << "it is all sent: now Bob's waits for longest";
}

TEST(SharePlan, ABatchIsAdmittedOnceAtItsShare) {
    ShareBook book = a_book(share::ShareRule::kSeed);
    EXPECT_TRUE(admit(book, ten_jobs(7, kAnn), kFlops, kNow));
    EXPECT_TRUE(admit(book, ten_jobs(7, kAnn), kFlops, kNow + 50));
    EXPECT_DOUBLE_EQ(book.clock.batch(7).start, kNow);
    EXPECT_DOUBLE_EQ(book.clock.batch(7).end, kNow + 10000);
    EXPECT_DOUBLE_EQ(lst(book, kAnn), kNow + 10000 / 0.25);
}

TEST(SharePlan, AUserWithoutQuotaHasNoPlace) {
    ShareBook book = a_book();
    EXPECT_FALSE(admit(book, ten_jobs(7, 99), kFlops, kNow));
    const ShareOutcome done = settle_all(book, {ten_jobs(7, 99)}, kFlops, kNow);
    EXPECT_EQ(done.without_quota, (std::vector<Id>{7}));
    EXPECT_FALSE(done.any());
}

TEST(SharePlan, WhatUpstreamHasChargedIsNotChargedAgain) {
    ShareBook book = a_book(share::ShareRule::kSeed);
    // Its page ran adjust_user_priority (LST now + R/share) and stored the result with the batch.
    const double charged = kNow + 10000 / 0.25;
    share::ClockState state = book.clock.state();
    state.users[kAnn].lst = charged;
    book.clock = share::LogicalClock(share::ShareRule::kSeed, 0, state);
    BatchWork w = ten_jobs(7, kAnn);
    w.logical_end_time = charged;
    EXPECT_EQ(settle_all(book, {w}, kFlops, kNow + 60).adopted, 1);
    EXPECT_DOUBLE_EQ(book.clock.batch(7).start, kNow);
    EXPECT_DOUBLE_EQ(book.clock.batch(7).end, kNow + 10000);
    EXPECT_DOUBLE_EQ(lst(book, kAnn), charged);
}

TEST(SharePlan, LyingAboutEstimatesGainsNothing) {
    for (const double factor : {0.1, 1.0, 10.0}) {  // the true size by the estimate
        ShareBook book = a_book();
        BatchWork w = ten_jobs(7, kAnn);
        w.open /= factor;
        const double before = lst(book, kAnn);
        settle_all(book, {w}, kFlops, kNow);
        w = after(ten_jobs(7, kAnn), 10, 1);
        w.estimated_successes /= factor;
        w.state = BatchState::kComplete;
        const ShareOutcome done = settle_all(book, {w}, kFlops, kNow + 10000);
        EXPECT_EQ(done.finished, 1);
        EXPECT_NEAR(lst(book, kAnn) - before, 10000 / 0.25, 1e-3) << factor;
        EXPECT_FALSE(settle_all(book, {w}, kFlops, kNow + 20000).any()) << "a pass that finds nothing writes nothing";
    }
}

TEST(SharePlan, LosingAQuotaSettlesReturningPaysTheRest) {
    ShareBook book = a_book();
    settle_all(book, {ten_jobs(7, kAnn)}, kFlops, kNow);
    const double before = book.clock.batch(7).start;
    BatchWork w = after(ten_jobs(7, kAnn), 4, 1);
    w.known = true;
    book.quotas[kAnn] = 0;
    EXPECT_EQ(settle_all(book, {w}, kFlops, kNow + 1).finished, 1);
    EXPECT_NEAR(lst(book, kAnn), before + 4000 / 0.25, 1e-3);
    EXPECT_EQ(book.charged.at(7), 4e15);
    EXPECT_TRUE(book.clock.order().empty());

    // As stored and read again: what is finished is not in the clock any more.
    share::ClockState state = book.clock.state();
    state.batches.clear();
    book.clock = share::LogicalClock(share::ShareRule::kSettled, 86400, state);
    book.quotas[kAnn] = 1;
    book.clock.set_quota(kNow + 2, kAnn, 1);
    const double returned = lst(book, kAnn);
    w.charged = 4e15;
    EXPECT_EQ(settle_all(book, {w}, kFlops, kNow + 2).admitted, 1);
    EXPECT_NEAR(book.clock.batch(7).seconds, 6000, 1e-6);
    EXPECT_NEAR(lst(book, kAnn) - returned, 6000 / 0.25, 1e-3);
}

/// Ten single jobs of 1e15 operations.
BatchWork a_stream(Id id, Id user, const StreamWork& work) {
    BatchWork w = ten_jobs(id, user);
    w.state = BatchState::kInit;
    w.stream = work;
    w.stream->open_jobs = 10;
    w.stream->waiting = 8;
    return w;
}

TEST(SharePlan, SingleJobsAreChargedAtSendingAndCorrected) {
    ShareBook book = a_book();
    const double before = lst(book, kAnn);
    BatchWork w = a_stream(7, kAnn, {-1, kNow - 3600, 0, 0, 0, 0, 2e15});
    EXPECT_EQ(settle_all(book, {w}, kFlops, kNow).streams, 1);
    EXPECT_NEAR(lst(book, kAnn) - before, 2000 / 0.25, 1e-3) << "two run";
    EXPECT_NEAR(book.streams.at(7).head, 1000, 1e-9);
    EXPECT_TRUE(book.clock.users().at(kAnn).streaming);
    EXPECT_EQ(settle_all(book, {w}, kFlops, kNow).streams, 0) << "as if another pass had been quicker";

    // One has come back, after three times what was estimated; the other counts (3 + 5) / (1 + 5) times its estimate.
    w = a_stream(7, kAnn, {kNow - 3600, kNow, 0, 0, 3e15, 0, 1e15});
    w.measured_successes = 3e15, w.estimated_successes = 1e15, w.successes = 1;
    settle_all(book, {w}, kFlops, kNow + 3600);
    EXPECT_NEAR(lst(book, kAnn) - before, (3000 + 1000 * 8 / 6.0) / 0.25, 1e-3);
    // It is settled and purged; nothing runs, nothing waits.
    w = a_stream(7, kAnn, {kNow, kNow + 3600, 3e15, 0, 0, 0, 0});
    w.measured_successes = 3e15, w.estimated_successes = 1e15, w.successes = 1;
    settle_all(book, {w}, kFlops, kNow + 7200);
    w = a_stream(7, kAnn, {kNow + 3600, kNow + 7200});
    w.stream->waiting = 0;
    settle_all(book, {w}, kFlops, kNow + 10800);
    EXPECT_NEAR(lst(book, kAnn) - before, 3000 / 0.25, 1e-3);
    EXPECT_FALSE(book.clock.users().at(kAnn).streaming);
}

/// All that waits, and what was sent: nothing has come back.
BatchWork without_batch(Id owner, double until, double now, double sent) {
    return a_stream(kWithoutBatch, owner, {until, now - 3600, 0, 0, 0, 0, sent});
}

TEST(SharePlan, JobsWithoutBatchAreChargedToTheirOwner) {
    ShareBook book = a_book();
    const double ann = lst(book, kAnn), bob = lst(book, kBob);
    settle_all(book, {without_batch(kAnn, kNow - 3600, kNow, 2e15)}, kFlops, kNow);
    EXPECT_NEAR(lst(book, kAnn) - ann, 2000 / 0.25, 1e-3);
    EXPECT_TRUE(book.clock.users().at(kAnn).streaming);
    EXPECT_EQ(book.streams.at(kWithoutBatch).user_id, kAnn);
    // Bob's from now on: what more there is is his.
    settle_all(book, {without_batch(kBob, kNow - 3600, kNow + 300, 5e15)}, kFlops, kNow + 300);
    EXPECT_NEAR(lst(book, kAnn) - ann, 2000 / 0.25, 1e-3);
    EXPECT_NEAR(lst(book, kBob) - bob, 3000 / 0.75, 1e-3);
    EXPECT_FALSE(book.clock.users().at(kAnn).streaming);
    // Nobody's: what was charged stays.
    settle_all(book, {}, kFlops, kNow + 600);
    EXPECT_FALSE(book.streams.contains(kWithoutBatch));
    EXPECT_FALSE(book.clock.users().at(kBob).streaming);
    EXPECT_NEAR(lst(book, kBob) - bob, 3000 / 0.75, 1e-3);
    EXPECT_EQ(settle_all(book, {without_batch(kBob, kNow + 5400, kNow + 9000, 1e15)}, kFlops, kNow + 9000).streams, 1);
    EXPECT_NEAR(lst(book, kBob) - bob, 4000 / 0.75, 1e-3) << "it begins anew";
}

TEST(SharePlan, OfTwoPassesAtOnceOneCountsStream) {
    ShareBook book = a_book();
    const BatchWork w = a_stream(7, kAnn, {-1, kNow, 1e15, 0, 0, 0, 0});
    EXPECT_EQ(settle_all(book, {w}, kFlops, kNow).streams, 1);
    const double charged = lst(book, kAnn);
    EXPECT_EQ(settle_all(book, {w}, kFlops, kNow).streams, 0);
    EXPECT_EQ(lst(book, kAnn), charged);
    EXPECT_EQ(book.streams.at(7).kept, 1e15);
}

TEST(SharePlan, PurgedJobsTakeNothingFromADay) {
    ShareBook book = a_book();
    for (const int jobs : {4, 3, 5}) settle_all(book, {after(ten_jobs(7, kAnn), jobs, 1)}, kFlops, kNow);
    EXPECT_EQ(book.given, (std::map<Id, double>{{kAnn, 5e15}}));
    settle_all(book, {after(ten_jobs(7, kAnn), 2, 1)}, kFlops, kNow);
    EXPECT_EQ(book.given, (std::map<Id, double>{{kAnn, 5e15}}));
}

TEST(SharePlan, ABatchPaysOnceForWhatWasSent) {
    ShareBook book = a_book();
    const double before = lst(book, kAnn);
    settle_all(book, {a_stream(7, kAnn, {-1, kNow, 1e15, 0, 0, 0, 1e15})}, kFlops, kNow);
    BatchWork w = after(ten_jobs(7, kAnn), 1, 1);
    EXPECT_EQ(settle_all(book, {w}, kFlops, kNow + 60).admitted, 1);
    EXPECT_NEAR(book.clock.batch(7).seconds, 8000, 1e-6);
    EXPECT_NEAR(lst(book, kAnn) - before, 10000 / 0.25, 1e-3);
    w = after(ten_jobs(7, kAnn), 10, 1);
    w.state = BatchState::kComplete;
    settle_all(book, {w}, kFlops, kNow + 120);
    EXPECT_NEAR(lst(book, kAnn) - before, 10000 / 0.25, 1e-3);
    EXPECT_FALSE(book.clock.users().at(kAnn).streaming);
}

TEST(SharePlan, SingleJobsWithoutQuotaAreFree) {
    ShareBook book = a_book();
    settle_all(book, {a_stream(7, 99, {-1, kNow, 1e15, 0, 0, 0, 1e15})}, kFlops, kNow);
    EXPECT_FALSE(book.clock.users().contains(99));
    EXPECT_EQ(book.streams.at(7).charged, 2e15) << "nor later, should he get one";
}

TEST(SharePlan, BatchWhoseJobsArePurgedKeepsItsCharge) {
    ShareBook book = a_book();
    settle_all(book, {ten_jobs(7, kAnn)}, kFlops, kNow);
    const double charged = lst(book, kAnn);
    BatchWork w;
    w.id = 7, w.user_id = kAnn, w.known = true, w.purged = true, w.state = BatchState::kRetired;
    EXPECT_EQ(settle_all(book, {w}, kFlops, kNow + 60).finished, 1);
    EXPECT_EQ(lst(book, kAnn), charged) << "no refund for what can't be measured any more";
}

TEST(SharePlan, APurgedBatchPaysForNewJobs) {
    ShareBook book = a_book();
    BatchWork w;
    w.id = 7, w.user_id = kAnn, w.known = true, w.open = 6e15, w.charged = 4e15;  // it was here before
    settle_all(book, {w}, kFlops, kNow);
    w.open = 0, w.purged = true, w.state = BatchState::kRetired;
    settle_all(book, {w}, kFlops, kNow + 60);
    ASSERT_TRUE(book.charged.contains(7));
    w = after(ten_jobs(7, kAnn), 0, 1);
    w.charged = book.charged.at(7);
    EXPECT_EQ(run_time(w, kFlops), 10000);
}

}  // namespace
}  // namespace sluice
