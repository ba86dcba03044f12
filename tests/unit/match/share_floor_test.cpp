// SPDX-License-Identifier: LGPL-3.0-or-later
// The floor of rule settled: part of the requests are drawn by quota among the users whose jobs could go to the host.
// Expected values: the quotas, and three standard deviations of the binomial.
#include "sched/match/share_bands.h"
#include "tests/support/match_world.h"

namespace sluice::test {
namespace {

/// Batch 1 of user 1 is ten days behind batch 2 of user 2.
MatchWorld two_users(double quota_of_1, double quota_of_2) {
    MatchWorld w;
    w.tables.batch_shares[1] = {1, 1.8e9 + 10 * 86400, quota_of_1};
    w.tables.batch_shares[2] = {2, 1.8e9, quota_of_2};
    for (const int batch : {1, 2}) w.pool.add(a_job(batch).batch(batch));
    w.want(ProcType::kCpu, 1, 0);  // one job
    return w;
}
/// Part of so many requests in which the one behind was sent.
double part_of_the_one_behind(MatchWorld& w, int requests) {
    int behind = 0;
    for (int i = 0; i < requests; ++i) {
        w.seed = static_cast<std::uint64_t>(i);
        for (auto& slot : w.pool.slots) slot.state = SlotState::kPresent;
        behind += w.sent() == std::vector<Id>{1};
    }
    return static_cast<double>(behind) / requests;
}

TEST(ShareFloor, PartOfTheRequestsAreDrawnByQuota) {
    MatchWorld w = two_users(1, 3);
    w.params.share_floor = 0.05;
    EXPECT_NEAR(part_of_the_one_behind(w, 4000), 0.05 / 4, 0.006);  // three standard deviations
    w.params.share_floor = 1;
    EXPECT_NEAR(part_of_the_one_behind(w, 1000), 1.0 / 4, 0.04);
    w.params.share_floor = 0;
    EXPECT_EQ(part_of_the_one_behind(w, 200), 0);
}

TEST(ShareFloor, WithoutQuotaNobodyIsDrawn) {
    MatchWorld w = two_users(0, 3);
    w.params.share_floor = 1;
    EXPECT_EQ(part_of_the_one_behind(w, 100), 0);
    w.tables.batch_shares[2].quota = 0;
    EXPECT_EQ(part_of_the_one_behind(w, 100), 0);
}

/// Whoever is drawn, his own batches keep their order, and those of the others theirs.
TEST(ShareFloor, TheDrawnUsersBatchesComeFirst) {
    const BatchShare first{1, 1.8e9, 1}, second{1, 1.8e9 + 86400, 1}, other{2, 1.7e9, 0}, later{2, 1.8e9, 0};
    const match::ShareBands order({&second, nullptr, &first, &later, &other}, 0.5);
    EXPECT_EQ(order.place(&first).band, 0u);
    EXPECT_EQ(order.place(&second).band, 1u);
    EXPECT_EQ(order.place(&other).band, 2u);
    EXPECT_EQ(order.place(&later).band, 3u);
    EXPECT_EQ(order.place(nullptr).band, 2u);
}

}  // namespace
}  // namespace sluice::test
