// SPDX-License-Identifier: LGPL-3.0-or-later
// By what estimates are multiplied: learnt from what came back.
#include "daemons/batches/planner_memory.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice::test {
namespace {

const std::map<Id, Id> kUsers{{1, 100}, {2, 100}, {3, 200}};

/// A second for each operation.
void come_back(RunTimeRatios& ratios, Id batch, int jobs, double expected, double elapsed) {
    for (int i = 0; i < jobs; ++i) {
        const Id result = 1000 * batch + i;
        ratios.watch(result, batch, 1);
        ratios.returned({result, elapsed, expected}, kUsers);
    }
}

TEST(RunTimeRatios, EstimatesAreBelievedUntilSomethingComesBack) { EXPECT_EQ(RunTimeRatios().of(1, 100), 1); }

TEST(RunTimeRatios, ALiarsNextBatchIsNotBelievedEither) {
    RunTimeRatios ratios;
    come_back(ratios, 1, 5, 100, 1000);
    come_back(ratios, 1, 1, 100, 1000);
    EXPECT_EQ(ratios.of(1, 100), 10);
    EXPECT_EQ(ratios.of(2, 100), 10);
    EXPECT_EQ(ratios.of(3, 200), 1) << "somebody else's";
}

TEST(RunTimeRatios, FailedAndUnwatchedRunsTeachNothing) {
    RunTimeRatios ratios;
    come_back(ratios, 1, 20, 100, 0);
    ratios.returned({77, 1e6, 1}, kUsers);
    EXPECT_EQ(ratios.of(1, 100), 1);
    EXPECT_TRUE(ratios.gone({}).empty());
}

/// The first that come back say nothing of those that take longer.
TEST(RunTimeRatios, AJobIsComparedWithItsOwnEstimate) {
    RunTimeRatios ratios;
    come_back(ratios, 1, 50, 3600, 3600);
    come_back(ratios, 2, 50, 4 * 3600, 4 * 3600);
    EXPECT_EQ(ratios.of(1, 100), 1);
    EXPECT_EQ(ratios.of(2, 100), 1);
}

TEST(RunTimeRatios, AnEstimateOfNothingIsASecond) {
    RunTimeRatios ratios;
    come_back(ratios, 1, 1000, 0, 30);
    EXPECT_EQ(ratios.of(1, 100), 30);
}

TEST(RunTimeRatios, FewClientsCantBendIt) {
    RunTimeRatios ratios;
    come_back(ratios, 1, 5, 100, 100);
    come_back(ratios, 1, 4, 100, 1e300);
    EXPECT_EQ(ratios.of(1, 100), 1);
    come_back(ratios, 1, 50, 100, 1e300);
    EXPECT_EQ(ratios.of(1, 100), 100) << "what a client tells is bounded";
}

/// What is expected of a host follows what its jobs took: then estimates are right again.
TEST(RunTimeRatios, WhatIsLongAgoIsForgotten) {
    RunTimeRatios ratios;
    come_back(ratios, 1, 900, 100, 1000);
    come_back(ratios, 2, 30, 100, 100);
    EXPECT_EQ(ratios.of(2, 100), 1);
}

TEST(RunTimeRatios, ANewProcessContinuesWithTheOldFactor) {
    RunTimeRatios ratios;
    ratios.start(1, 100, 10);
    EXPECT_EQ(ratios.of(1, 100), 10);
    EXPECT_EQ(ratios.of(2, 100), 10) << "his next batch";
    ratios.start(3, 200, HUGE_VAL), ratios.start(3, 200, NAN), ratios.start(3, 200, 0);
    EXPECT_EQ(ratios.of(3, 200), 1);
}

TEST(RunTimeRatios, CancelledInstancesAreAwaitedDuringTheirBatch) {
    RunTimeRatios ratios;
    for (const Id result : {5, 6, 7}) ratios.watch(result, result == 7 ? 2 : 1, 100);
    EXPECT_EQ(ratios.gone({6}), (std::vector<Id>{5, 7}));
    EXPECT_EQ(ratios.gone({6}), (std::vector<Id>{5, 7})) << "they may come yet";
    ratios.keep({1});
    EXPECT_EQ(ratios.gone({6}), std::vector<Id>{5});
}

TEST(RunTimeRatios, OfThoseThatNeverComeNewestAreKept) {
    RunTimeRatios ratios;
    for (Id result = 1; result <= 6000; ++result) ratios.watch(result, 1, 100);
    const std::vector<Id> gone = ratios.gone({});
    EXPECT_EQ(gone.size(), 5000u);
    EXPECT_EQ(gone.front(), 1001);
}

}  // namespace
}  // namespace sluice::test
