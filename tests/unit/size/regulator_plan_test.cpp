// SPDX-License-Identifier: LGPL-3.0-or-later
// Seed 003, "Regulating the flow of jobs into shared memory": below the low mark, fill up to the high mark.
#include "daemons/size_regulator/plan.h"

#include <gtest/gtest.h>

#include <random>

namespace sluice {
namespace {

TEST(PlanRelease, FillsEachClassBelowItsLowMark) {
    const auto plan = plan_release(4, {{0, 9}, {1, 10}, {3, 0}, {7, 1}}, {10, 25});
    ASSERT_EQ(plan.size(), 3u);
    EXPECT_EQ(plan[0].size_class, 0);
    EXPECT_EQ(plan[0].wanted, 16);
    EXPECT_EQ(plan[1].size_class, 2);
    EXPECT_EQ(plan[1].wanted, 25) << "a class with no UNSENT job at all";
    EXPECT_EQ(plan[2].size_class, 3);
}
TEST(PlanRelease, ClassesThatDoNotExistGetNothing) { EXPECT_TRUE(plan_release(0, {{0, 0}}, {1, 2}).empty()); }

TEST(PlanRelease, NeverAboveTheHighMarkNorBelowAfterwards) {
    std::mt19937 rng(7);
    for (int i = 0; i < 10000; ++i) {
        const WaterMarks marks{1 + static_cast<std::int64_t>(rng() % 50), 50 + static_cast<std::int64_t>(rng() % 50)};
        std::map<int, std::int64_t> unsent;
        const int classes = static_cast<int>(rng() % 12);
        for (int c = 0; c < classes; ++c) unsent[c] = rng() % 120;
        auto after = unsent;
        for (const auto& r : plan_release(classes, unsent, marks)) {
            EXPECT_GT(r.wanted, 0);
            after[r.size_class] += r.wanted;
        }
        for (int c = 0; c < classes; ++c) {
            EXPECT_GE(after[c], marks.low);
            EXPECT_LE(after[c], std::max(marks.high, unsent[c]));
        }
    }
}
TEST(CheckMarks, LowAboveHighIsRefused) {
    EXPECT_EQ(check_marks({5, 5}), "");
    EXPECT_NE(check_marks({6, 5}).find("above --hi 5"), std::string::npos);
    EXPECT_NE(check_marks({0, 5}), "");
    EXPECT_NE(check_marks({5, 0}), "");
    EXPECT_NE(check_marks({-1, 5}), "");
}

}  // namespace
}  // namespace sluice
