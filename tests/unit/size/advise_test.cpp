// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/size_census/advise.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice {
namespace {

TEST(Advise, EqualHostsNeedOneClass) {
    std::vector<double> speeds(100, 2e9);
    const auto a = advise(speeds, {3600, 2, 0.9, 10});
    ASSERT_EQ(a.classes.size(), 1u);
    EXPECT_TRUE(a.reached);
    EXPECT_DOUBLE_EQ(a.classes[0].job_flops, 2e9 * 3600);
    EXPECT_DOUBLE_EQ(a.classes[0].runtime_p10, 3600);
}
TEST(Advise, TwoPopulationsNeedTwoClassesWithRightRatio) {
    std::vector<double> speeds(100, 1e9);
    speeds.insert(speeds.end(), 100, 1e12);
    const auto a = advise(speeds, {3600, 2, 0.9, 10});
    ASSERT_EQ(a.classes.size(), 2u);
    EXPECT_DOUBLE_EQ(a.classes[1].relative, 1000);
    EXPECT_DOUBLE_EQ(a.in_band, 1);
}
TEST(Advise, TooWideASpreadIsNamed) {
    std::vector<double> speeds;
    for (int i = 0; i < 1000; ++i) speeds.push_back(std::pow(10.0, i / 20.0));
    const auto a = advise(speeds, {3600, 2, 0.99, 4});
    EXPECT_FALSE(a.reached);
    EXPECT_NE(advice_text("x", a, {3600, 2, 0.99, 4}).find("more is not reached"), std::string::npos);
}
TEST(Advise, NoHostsAndIdleHosts) {
    std::vector<double> none, idle(5, 0.0);
    EXPECT_TRUE(advise(none, {}).classes.empty());
    EXPECT_TRUE(advise(idle, {}).classes.empty());
    EXPECT_EQ(histogram_text(none), "");
    EXPECT_NE(histogram_svg("x", none, {}).find("<svg"), std::string::npos);
}
TEST(Histogram, CountsEveryDeviceOnceAndEscapesTheName) {
    std::vector<double> speeds{1, 1.5, 2, 1000};
    const std::string text = histogram_text(speeds);
    EXPECT_NE(text.find("1.000e+00        2 "), std::string::npos) << text;
    EXPECT_NE(histogram_svg("a<b", speeds, advise(speeds, {})).find("a&lt;b"), std::string::npos);
}

}  // namespace
}  // namespace sluice
