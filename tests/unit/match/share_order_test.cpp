// SPDX-License-Identifier: LGPL-3.0-or-later
// The order of shares comes before every score, and does not end at six hours of lag (seed 000). Expected values: the
// bands, by hand.
#include <cmath>

#include "sched/match/share_bands.h"
#include "tests/support/match_world.h"

namespace sluice::test {
namespace {

constexpr double kFirstEnd = 1.8e9, kHour = 3600;

/// A job of each batch, batch i + 1 of user i + 1, so many hours behind the least.
MatchWorld batches_behind(const std::vector<double>& hours) {
    MatchWorld w;
    for (std::size_t i = 0; i < hours.size(); ++i) {
        const int batch = static_cast<int>(i) + 1;
        w.tables.batch_shares[batch] = {batch, kFirstEnd + hours[i] * kHour, 1};
        w.pool.add(a_job(batch).batch(batch));
    }
    return w;
}

/// Seen before: 116 h behind and 8 h behind were worth the same, so that the rest of the score decided.
TEST(ShareOrder, EightHoursBehindGoesBeforeHundredBehind) {
    for (const int level : {0, 1}) {
        MatchWorld w = batches_behind({116, 8});
        w.params.compat_level = level;
        w.pool.slots[0].job.priority = 1'000'000'000;  // at level 0 as many points
        w.params.score_weights["result_priority"] = 1e9;
        w.want(ProcType::kCpu, 1, 0);  // one job
        EXPECT_EQ(w.sent(), std::vector<Id>{2}) << "level " << level;
        EXPECT_EQ(w.trace.of(1)->share_band, 1u);
        EXPECT_EQ(w.trace.of(2)->share_band, 0u);
        EXPECT_GT(w.trace.of(1)->score, w.trace.of(2)->score);
    }
}

TEST(ShareOrder, HasNoEnd) {
    MatchWorld w = batches_behind({1e12, 30, 1e6, HUGE_VAL, 0, 6, 13, 19});
    for (std::size_t i = 0; i < w.pool.slots.size(); ++i) w.pool.slots[i].job.priority = static_cast<int>(9 - i);
    w.want(ProcType::kCpu, 1e9, 8);
    EXPECT_EQ(w.sent(), (std::vector<Id>{5, 6, 7, 8, 2, 3, 1, 4}));  // 7 and 8 are one band
    const std::vector<std::uint32_t> bands{4, 2, 3, 5, 0, 0, 1, 1};
    for (std::size_t i = 0; i < bands.size(); ++i)
        EXPECT_EQ(w.trace.of(static_cast<Id>(i) + 1)->share_band, bands[i]) << "batch " << i + 1;
}

/// A host that can't run the least batch's job is not kept waiting for it.
TEST(ShareOrder, TheLeastIsOfJobsForThisHost) {
    MatchWorld w = batches_behind({9, 0});
    w.pool.slots[1].job.rsc_memory_bound = 1e15;
    w.match();
    EXPECT_EQ(w.trace.of(1)->fate, Reason::kFeasible);
    EXPECT_EQ(w.trace.of(1)->share_band, 0u);
}

TEST(ShareOrder, JobsWithoutBatchWaitForTheirOwnersTurn) {
    for (const bool owned : {false, true}) {
        MatchWorld w = batches_behind({8});
        w.pool.add(a_job(2));
        w.want(ProcType::kCpu, 1, 0);
        if (owned) w.tables.batch_shares[kWithoutBatch] = {2, kFirstEnd + 30 * kHour, 1};
        w.match();
        EXPECT_EQ(w.trace.of(1)->share_band, 0u);
        EXPECT_EQ(w.trace.of(2)->share_band, owned ? 1u : 0u);
    }
}

TEST(ShareOrder, IsNotThereWithoutShares) {
    MatchWorld w = batches_behind({116, 8});
    w.tables.batch_shares.clear();
    w.pool.slots[0].job.priority = 1;
    w.want(ProcType::kCpu, 1, 0);  // one job
    EXPECT_EQ(w.sent(), std::vector<Id>{1}) << "level 0: priority is points";
    EXPECT_FALSE(w.trace.of(1)->share_band);
}

/// What is left when a band is empty is ordered as if that band had never been there.
TEST(ShareBands, BeginWithLeastOfWhatBandsBeforeLeft) {
    const std::vector<BatchShare> of{{1, kFirstEnd, 1},
                                     {2, kFirstEnd + 6 * kHour, 1},
                                     {3, kFirstEnd + 7 * kHour, 1},
                                     {4, kFirstEnd + 12 * kHour, 1}};
    const match::ShareBands all({&of[3], &of[1], nullptr, &of[0], &of[2]}, -1), rest({&of[2], &of[3]}, -1);
    EXPECT_EQ(all.place(&of[0]).band, 0u);
    EXPECT_EQ(all.place(&of[1]).band, 0u);
    EXPECT_EQ(all.place(&of[1]).lag, 1);
    EXPECT_EQ(all.place(nullptr).band, 0u) << "a job without a batch is behind nobody";
    for (const std::size_t i : {2u, 3u}) {
        EXPECT_EQ(all.place(&of[i]).band, 1 + rest.place(&of[i]).band);
        EXPECT_EQ(all.place(&of[i]).lag, rest.place(&of[i]).lag);
    }
    EXPECT_NEAR(all.place(&of[3]).lag, 5 / 6.0, 1e-9);
}

TEST(ShareBands, WithoutQuotaItIsLast) {
    const BatchShare first{1, kFirstEnd, 1}, none{2, HUGE_VAL, 0}, other{3, HUGE_VAL, 0};
    const match::ShareBands order({&none, &first, &other}, -1);
    EXPECT_EQ(order.place(&first).band, 0u);
    EXPECT_EQ(order.place(&none).band, 1u);
    EXPECT_EQ(order.place(&other).band, 1u);
    EXPECT_EQ(order.place(&none).lag, 0);
}

}  // namespace
}  // namespace sluice::test
