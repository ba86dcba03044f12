// SPDX-License-Identifier: LGPL-3.0-or-later
// When batch_shares looks at what, and when it has the feeder read its tables again.
#include <gtest/gtest.h>

#include "daemons/batches/shares.h"
#include "db/memory/share_store.h"
#include "sluice/base/error.h"
#include "tests/support/counted_notices.h"
#include "tests/support/fake_clock.h"

namespace sluice::test {
namespace {

constexpr double kNow = 1.8e9, kEvery = 300;
constexpr Id kAnn = 1, kBob = 2;

class SharesServiceTest : public testing::Test {
  protected:
    SharesServiceTest() { store_.quotas = {{kAnn, 1}, {kBob, 1}}; }
    void batch(Id id, Id user) {
        Batch b;
        b.id = id;
        b.user_id = user;
        b.state = BatchState::kInProgress;
        db_.batches.put(id, b);
        Workunit w;
        w.id = w.batch = id;
        w.rsc_fpops_est = 1e15;
        w.target_nresults = 1;
        db_.workunits.put(id, w);
    }
    double turn(double after) {
        clock_.set(kNow + after);
        return service_.turn().wait;
    }
    bool pass_is_due(double after) {
        clock_.set(kNow + after);
        return service_.pass_is_due();
    }
    double end(Id id) { return db_.batches.get(id)->logical_end_time; }

    MemoryDb db_;
    MemoryShareStore store_{db_};
    SharesOptions options_{kEvery};
    FakeClock clock_{kNow};
    CountedNotices notices_;
    SharesService service_{options_, store_, clock_, notices_};
};

TEST_F(SharesServiceTest, NewBatchIsPlacedBeforeNextPass) {
    constexpr double kLook = SharesService::kLook;
    batch(1, kAnn);
    EXPECT_TRUE(service_.pass_is_due());
    EXPECT_EQ(turn(0), kLook);
    EXPECT_GT(end(1), 0);
    EXPECT_EQ(notices_.rereads, 1);
    batch(2, kBob);
    EXPECT_FALSE(pass_is_due(kLook));
    turn(kLook);
    EXPECT_GT(end(2), 0);
    EXPECT_EQ(notices_.rereads, 2);
    turn(2 * kLook);
    EXPECT_EQ(notices_.rereads, 2) << "once";
    EXPECT_FALSE(pass_is_due(kEvery - 1));
    EXPECT_TRUE(pass_is_due(kEvery));
}

TEST_F(SharesServiceTest, PassesThatComeOftenerThanLooksAreMade) {
    const SharesOptions often{4};
    SharesService service(often, store_, clock_, notices_);
    EXPECT_EQ(service.turn().wait, 4);
}

TEST_F(SharesServiceTest, UsersWithoutQuotaAreNotRereadEachTime) {
    turn(0);
    batch(1, 77);
    const std::uint64_t before = db_.verbs;
    turn(SharesService::kLook);
    EXPECT_EQ(db_.verbs, before + 1) << "one statement";
    EXPECT_EQ(notices_.rereads, 0);
    EXPECT_EQ(end(1), 0);
}

TEST_F(SharesServiceTest, PassIsDueWhenClockWasPutBack) {
    turn(0);
    EXPECT_FALSE(pass_is_due(1));
    EXPECT_TRUE(pass_is_due(-86400)) << "by a day";
}

/// At level 1 the feeder reads its tables every minute by itself.
TEST_F(SharesServiceTest, WhatPassSettlesIsToldAtLevel0Only) {
    for (const int level : {0, 1}) {
        options_.compat_level = level;
        const Id id = 10 + level;
        batch(id, kAnn);
        turn(level * kEvery);
        const int before = notices_.rereads;
        db_.batches.change(id, [](Batch& b) { b.state = BatchState::kComplete; });
        turn((level + 1) * kEvery);
        EXPECT_EQ(notices_.rereads - before, level == 0 ? 1 : 0) << "level " << level;
    }
}

/// A full disk, say: the batch has its place, and the next look finds nothing new.
TEST_F(SharesServiceTest, AFailedNoticeIsRepeatedNextTurn) {
    class Failing final : public Notices {
      public:
        void reread_tables() override {
            if (++calls == 1) throw FileError("no space left");
        }
        int calls = 0;
    } notices;
    SharesService service(options_, store_, clock_, notices);
    batch(1, kAnn);
    EXPECT_THROW(service.turn(), FileError);
    for (const int looks : {1, 2}) {
        clock_.set(kNow + looks * SharesService::kLook);
        service.turn();
        EXPECT_EQ(notices.calls, 2) << "again, and then no more";
    }
}

TEST_F(SharesServiceTest, ADryRunWritesAndTellsNothing) {
    options_.dry_run = true;
    batch(1, kAnn);
    testing::internal::CaptureStdout();
    turn(0);
    EXPECT_NE(testing::internal::GetCapturedStdout().find("batch 1 of user 1: gets a place"), std::string::npos);
    EXPECT_EQ(end(1), 0);
    EXPECT_EQ(notices_.rereads, 0);
}

TEST_F(SharesServiceTest, ThePageIsWrittenAfterPassesOnly) {
    int pages = 0;
    options_.after_pass = [&](double now) {
        ++pages;
        EXPECT_EQ(now, clock_.now());
    };
    turn(0), turn(SharesService::kLook), turn(kEvery);
    EXPECT_EQ(pages, 2);
}

}  // namespace
}  // namespace sluice::test
