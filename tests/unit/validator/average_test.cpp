// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/model/average.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice {
namespace {

TEST(Average, MeanAndVarianceOfTheFirstSamples) {
    Average a;
    for (const double x : {2.0, 4.0, 6.0}) EXPECT_FALSE(add_sample(a, x, kHostVersionRule));
    EXPECT_DOUBLE_EQ(a.n, 3);
    EXPECT_DOUBLE_EQ(a.avg, 4);
    EXPECT_NEAR(a.var, 8.0 / 3, 1e-12);
}
TEST(Average, FromTheThresholdOnItIsExponential) {
    Average a{19, 100, 0, 0};
    add_sample(a, 200, kHostVersionRule);
    EXPECT_DOUBLE_EQ(a.avg, 101);
    EXPECT_DOUBLE_EQ(a.var, 100);
}
TEST(Average, ASampleIsCutAtTheLimit) {
    Average a{5, 1, 0, 0};
    EXPECT_TRUE(add_sample(a, 1000, kHostVersionRule));
    EXPECT_DOUBLE_EQ(a.avg, 1 + 9.0 / 6);
}
TEST(Average, NegativeAndNotANumberAreIgnored) {
    Average a{5, 1, 0, 0};
    EXPECT_TRUE(add_sample(a, -1, kHostVersionRule));
    EXPECT_TRUE(add_sample(a, std::nan(""), kHostVersionRule));
    EXPECT_EQ(a.n, 5);
}
TEST(RecentCredit, HalvesInAWeek) {
    double avg = 100, time = 1000;
    add_credit(1000 + 604800, 0, 0, avg, time);
    EXPECT_NEAR(avg, 50, 1e-9);
    EXPECT_EQ(time, 1000 + 604800);
}
TEST(RecentCredit, FirstCreditIsWorkPerDay) {
    double avg = 0, time = 0;
    add_credit(86400 * 3, 86400, 10, avg, time);
    EXPECT_NEAR(avg, 5, 1e-12);
}
TEST(RecentCredit, NoElapsedTimeIsNoDivisionByZero) {
    double avg = 7, time = 500;
    add_credit(500, 100, 3, avg, time);
    EXPECT_NEAR(avg, 7 + std::log(2.0) * 3 / 7, 1e-12);
    double first = 0, never = 0;
    add_credit(500, 500, 3, first, never);
    EXPECT_TRUE(std::isfinite(first));
}

}  // namespace
}  // namespace sluice
