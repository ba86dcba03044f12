// SPDX-License-Identifier: LGPL-3.0-or-later
// Feeders of several machines: who has which part.
#include <gtest/gtest.h>

#include "feeder/feeder.h"

namespace sluice {
namespace {

using Leases = std::vector<FeederLease>;

TEST(LiveFeeders, OneAloneHasAll) {
    LiveFeeders live("b");
    EXPECT_EQ(live.part({{"b", 1}}, 100), FeederPart{});
    EXPECT_TRUE(live.part({{"b", 2}}, 103).has(17));
}

TEST(LiveFeeders, ThreeHaveThirdEachWhateverStepOfIds) {
    LiveFeeders a("a"), b("b"), c("c");
    const Leases leases = {{"a", 5}, {"b", 9}, {"c", 1}};
    const FeederPart parts[] = {a.part(leases, 100), b.part(leases, 50), c.part(leases, 7)};
    for (const Id step : {1, 2, 3, 4, 6, 9}) {
        int of_part[3] = {};
        for (Id n = 0; n < 3000; ++n) {
            int owners = 0;
            for (int i = 0; i < 3; ++i)
                if (parts[i].has(1000 + n * step)) ++owners, ++of_part[i];
            ASSERT_EQ(owners, 1);
        }
        for (const int n : of_part) EXPECT_NEAR(n, 1000, 30) << step;
    }
}

TEST(LiveFeeders, AnUnchangedLeaseIsDead) {
    LiveFeeders live("a");
    EXPECT_EQ(live.part({{"a", 1}, {"b", 7}}, 100).n, 2) << "it may live";
    EXPECT_EQ(live.part({{"a", 2}, {"b", 8}}, 112).n, 2);
    EXPECT_EQ(live.part({{"a", 3}, {"b", 8}}, 126).n, 2) << "14 s";
    EXPECT_TRUE(live.dead().empty());
    EXPECT_EQ(live.part({{"a", 4}, {"b", 8}}, 128), FeederPart{});
    ASSERT_EQ(live.dead().size(), 1u);
    EXPECT_EQ(live.dead()[0].name, "b");
    EXPECT_EQ(live.part({{"a", 5}, {"b", 9}}, 131).n, 2) << "it is back";
}

TEST(LiveFeeders, AClockThatIsSetBackKillsNobody) {
    LiveFeeders live("a");
    live.part({{"a", 1}, {"b", 1}}, 1000);
    EXPECT_EQ(live.part({{"a", 2}, {"b", 1}}, 10).n, 2);
    EXPECT_EQ(live.part({{"a", 3}, {"b", 1}}, 26).n, 1);
}

}  // namespace
}  // namespace sluice
