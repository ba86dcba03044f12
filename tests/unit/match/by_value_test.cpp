// SPDX-License-Identifier: LGPL-3.0-or-later
// Candidates by falling value: ordered a stretch at a time, the order must be that of sorting them all.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "sched/match/scan.h"
#include "tests/support/match_world.h"

namespace sluice::test {
namespace {

struct Order {
    const char* name;
    double (*points)(Rng&, int i);
};
const Order kOrders[] = {
    {"random", [](Rng& rng, int) { return rng.uniform(); }},
    {"few_values", [](Rng& rng, int) { return static_cast<double>(rng.below(3)); }},
    {"all_the_same", [](Rng&, int) { return 1.0; }},
    {"rising", [](Rng&, int i) { return static_cast<double>(i); }},
    {"falling", [](Rng&, int i) { return -static_cast<double>(i); }},
    {"nothing_worth_it", [](Rng&, int) { return -std::numeric_limits<double>::infinity(); }},
    {"some_infinite",
     [](Rng& rng, int) {
         const auto kind = rng.below(3);
         return kind == 0 ? rng.uniform() : kind == 1 ? HUGE_VAL : -HUGE_VAL;
     }},
};

class ByValueOrder : public testing::TestWithParam<Order> {};

void expect_the_order_of_sorting_all(const Order& scores, bool shares) {
    const auto rng = make_seeded_rng(7);
    MatchWorld w;
    w.params.compat_level = 1;  // priorities are ranked
    if (shares) w.tables.batch_shares = {{1, {1, 1.8e9, 1}}, {2, {2, 1.8e9 + 30000, 1}}, {3, {3, HUGE_VAL, 0}}};
    const MatchContext context = w.context();
    const match::ActivePolicies policies(context);
    ASSERT_TRUE(policies.ranks());
    for (const int n : {0, 1, 95, 96, 97, 192, 193, 481, 6000}) {
        match::Candidates found;
        match::CandidateList& list = found.lists.emplace_back();
        for (int i = 0; i < n; ++i) {
            const auto priority = static_cast<std::int32_t>(rng->below(5));
            found.ranks.see(priority);
            list.entries.push_back({scores.points(*rng, i), static_cast<std::uint32_t>(i), 0});
            found.seen.push_back({1, static_cast<std::uint32_t>(i), priority, static_cast<int>(rng->below(4))});
        }
        const match::RankedPoints ranking(context, policies, found);
        std::vector<std::uint32_t> expected(static_cast<std::size_t>(n));
        std::iota(expected.begin(), expected.end(), 0u);
        const auto score = [&](std::uint32_t i) { return list.entries[i].points + ranking.of(i); };
        std::stable_sort(expected.begin(), expected.end(), [&](auto a, auto b) { return score(a) > score(b); });
        if (shares)
            std::stable_sort(expected.begin(), expected.end(),
                             [&](auto a, auto b) { return ranking.band(a) < ranking.band(b); });
        match::ByValue order(list, found.seen, ranking);
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const auto place = order.get(i);
            ASSERT_NE(place.entry, nullptr) << i << " of " << n;
            ASSERT_EQ(place.entry->order, expected[i]) << i << " of " << n;
            ASSERT_EQ(place.job->slot, expected[i]);
            ASSERT_EQ(place.score, score(expected[i]));
            ASSERT_EQ(place.share_band, ranking.band(expected[i]));
            ASSERT_EQ(place.share_band.has_value(), shares);
        }
        EXPECT_EQ(order.get(expected.size()).entry, nullptr);
        EXPECT_EQ(order.get(expected.size() + 9).entry, nullptr);
    }
}

TEST_P(ByValueOrder, IsThatOfSortingAll) { expect_the_order_of_sorting_all(GetParam(), false); }
TEST_P(ByValueOrder, IsThatOfSortingAllBandByBand) { expect_the_order_of_sorting_all(GetParam(), true); }

INSTANTIATE_TEST_SUITE_P(Match, ByValueOrder, testing::ValuesIn(kOrders),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(ByValue, AnUnusableWeightKeepsTheOthers) {
    MatchWorld w;
    w.params.score_weights["result_priority"] = HUGE_VAL;  // 0 times that is no number
    for (int i = 1; i <= 300; ++i) w.pool.add(a_job(i).priority(i == 200 ? 1 : 0));
    w.want(ProcType::kCpu, 7200, 2);
    const MatchResult r = w.match();
    ASSERT_EQ(r.jobs.size(), 2u);
    EXPECT_EQ(r.jobs[0].job.result_id, 200);
}

// What one job was refused for is not told of the next.
TEST(ByValue, A64BitJobIsRefusedWithItsFigure) {
    MatchWorld w;
    w.host.platforms = {"i686-pc-linux-gnu"};
    w.host.usable_ram = 1e12;
    for (AppVersion& v : w.tables.versions) v.platformid = 2;
    for (int i = 1; i <= 3; ++i) w.pool.add(a_job(i).ram(i * 1e10));
    EXPECT_TRUE(w.match().jobs.empty());
    ASSERT_EQ(w.trace.rows.size(), 3u);
    for (const auto& row : w.trace.rows) {
        EXPECT_EQ(row.verdict.reason, Reason::kMemory);
        EXPECT_EQ(row.verdict.required, static_cast<double>(row.result) * 1e10);
        EXPECT_EQ(row.verdict.value, 3.0 * kGiB);
    }
}

}  // namespace
}  // namespace sluice::test
