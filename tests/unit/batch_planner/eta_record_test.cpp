// SPDX-License-Identifier: LGPL-3.0-or-later
// How sure a time is: what is learnt from batches that ended.
#include "daemons/batches/planner_memory.h"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

/// A batch of which at each minute another hour is expected, and which ends after `minutes`.
void live(EtaRecord& record, Id batch, int minutes) {
    for (int i = 0; i < minutes; ++i) record.expect(batch, 60.0 * i, 60.0 * i + 3600);
    record.ended(batch, 60.0 * minutes);
}

TEST(EtaRecord, WithoutABatchItIsWhatWasStored) {
    EtaRecord record;
    EXPECT_EQ(record.factors(), EtaFactors{});
    record.start({0.5, 4});
    EXPECT_EQ(record.factors(), (EtaFactors{0.5, 4}));
    record.ended(7, 100);
    EXPECT_EQ(record.factors(), (EtaFactors{0.5, 4})) << "nothing was expected of it";
}

TEST(EtaRecord, NineTenthsOfTheMomentsLieWithinThem) {
    EtaRecord record;
    for (Id batch = 1; batch <= 200; ++batch) live(record, batch, 600);
    // Of ten hours, an hour expected at any moment: what is left is evenly between 0 and 10 times that.
    const EtaFactors factors = record.factors();
    EXPECT_NEAR(factors.least, 0.45, 0.15);
    EXPECT_NEAR(factors.most, 9.5, 0.6);
}

TEST(EtaRecord, FewBatchesChangeLittleOfWhatWasKnown) {
    EtaRecord record;
    live(record, 1, 600);
    EXPECT_GT(record.factors().most, 2.3);
    EXPECT_LT(record.factors().most, 4);
}

TEST(EtaRecord, OnlyTheLastTwoHundredBatchesCount) {
    EtaRecord record;
    for (Id batch = 1; batch <= 200; ++batch) live(record, batch, 6000);
    EXPECT_GT(record.factors().most, 50);
    for (Id batch = 201; batch <= 400; ++batch) live(record, batch, 60);
    EXPECT_LT(record.factors().most, 1.2);
}

/// All came back, and the batch waits for its validator: "now" is no expectation.
TEST(EtaRecord, WhatIsExpectedWithinAMinuteTeachesNothing) {
    EtaRecord record;
    for (Id batch = 1; batch <= 50; ++batch) {
        for (int i = 0; i < 60; ++i) record.expect(batch, 60.0 * i, 3600);
        for (int i = 60; i < 70; ++i) record.expect(batch, 60.0 * i, 60.0 * i);
        record.ended(batch, 60.0 * 70);
    }
    EXPECT_LT(record.factors().most, 7);
}

TEST(EtaRecord, OfAnAbortedBatchNothingIsLearnt) {
    EtaRecord record;
    record.expect(3, 0, 60), record.expect(9, 0, 60);
    EXPECT_EQ(record.open(), (std::vector<Id>{3, 9}));
    record.forget(3);
    record.ended(3, 1e6);
    EXPECT_EQ(record.open(), std::vector<Id>{9});
    EXPECT_EQ(record.factors(), EtaFactors{});
}

}  // namespace
}  // namespace sluice::test
