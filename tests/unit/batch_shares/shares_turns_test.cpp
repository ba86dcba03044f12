// When batch_shares looks at what.
#include <gtest/gtest.h>

#include "daemons/batch_shares/shares_pass.h"
#include "db/memory/share_store.h"
#include "tests/support/fake_clock.h"

namespace sluice::test {
namespace {

constexpr double kNow = 1.8e9, kEvery = 300;
constexpr Id kAnn = 1, kBob = 2;

class SharesTurnsTest : public testing::Test {
  protected:
    SharesTurnsTest() { store_.quotas = {{kAnn, 1}, {kBob, 1}}; }
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
    SharesTurns::Turn turn(double after) {
        clock_.set(kNow + after);
        return turns_.take();
    }
    double end(Id id) { return db_.batches.get(id)->logical_end_time; }

    MemoryDb db_;
    MemoryShareStore store_{db_};
    ShareSettings settings_;
    FakeClock clock_{kNow};
    SharesTurns turns_{store_, settings_, clock_, kEvery};
};

TEST_F(SharesTurnsTest, ANewBatchHasItsPlaceLongBeforeTheNextPass) {
    batch(1, kAnn);
    EXPECT_TRUE(turn(0).pass);
    EXPECT_GT(end(1), 0);
    batch(2, kBob);
    const SharesTurns::Turn looked = turn(SharesTurns::kLook);
    EXPECT_FALSE(looked.pass);
    EXPECT_EQ(looked.done.admitted, 1);
    EXPECT_GT(end(2), 0);
    EXPECT_EQ(turn(2 * SharesTurns::kLook).done.admitted, 0) << "once";
    EXPECT_TRUE(turn(kEvery).pass);
}

TEST_F(SharesTurnsTest, WhoHasNoQuotaIsNotLookedAtEachTime) {
    turn(0);
    batch(1, 77);
    const std::uint64_t before = db_.verbs;
    const SharesTurns::Turn looked = turn(SharesTurns::kLook);
    EXPECT_EQ(looked.done.admitted, 0);
    EXPECT_TRUE(looked.done.without_quota.empty());
    EXPECT_EQ(db_.verbs, before + 1) << "one statement";
    EXPECT_EQ(end(1), 0);
}

TEST_F(SharesTurnsTest, BetweenLooksNothingIsAsked) {
    turn(0);
    const std::uint64_t before = db_.verbs;
    turn(SharesTurns::kLook / 2);
    EXPECT_EQ(db_.verbs, before);
    EXPECT_TRUE(turn(-86400).pass) << "the clock was put back by a day";
}

}  // namespace
}  // namespace sluice::test
