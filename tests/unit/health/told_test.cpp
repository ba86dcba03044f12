// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/health/told.h"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

/// A caller that asks every five minutes and remembers as the file does.
class Caller {
  public:
    bool hears(Health daemons, Health disks = Health::kWell) {
        now_ += 300;
        HealthTold told = HealthTold::parse(file_);
        std::vector<HealthCheck> checks(2);
        checks[0].id = "daemons";
        checks[0].health = daemons;
        checks[1].id = "disks";
        checks[1].health = disks;
        const bool news = is_news(checks, now_, told);
        file_ = told.text();
        return news;
    }
    std::string file_;
    double now_ = 1.8e9;
};

TEST(HealthTold, AStateThatLastsIsSaidOnce) {
    Caller caller;
    EXPECT_FALSE(caller.hears(Health::kWell));
    EXPECT_FALSE(caller.hears(Health::kBroken)) << "it may be mended in a moment";
    EXPECT_TRUE(caller.hears(Health::kBroken));
    EXPECT_FALSE(caller.hears(Health::kBroken));
    EXPECT_FALSE(caller.hears(Health::kBroken, Health::kDegraded));
    EXPECT_TRUE(caller.hears(Health::kBroken, Health::kDegraded)) << "one more thing";
    EXPECT_FALSE(caller.hears(Health::kWell));
    EXPECT_TRUE(caller.hears(Health::kWell)) << "that it is over is news, too";
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(caller.hears(Health::kWell));
}

TEST(HealthTold, TwoCallsWithinASecondAreTwo) {
    Caller caller;
    caller.hears(Health::kBroken);
    caller.now_ += 0.6;
    EXPECT_TRUE(caller.hears(Health::kBroken));
    caller.now_ -= 299.8;
    EXPECT_FALSE(caller.hears(Health::kBroken));
}

TEST(HealthTold, WhatPassesIsNoNews) {
    Caller caller;
    for (int i = 0; i < 20; ++i) EXPECT_FALSE(caller.hears(i % 2 == 0 ? Health::kDegraded : Health::kWell));
}

TEST(HealthTold, OneThatFlickersDoesNotHideTheOthers) {
    Caller caller;
    int said = 0;
    for (int i = 0; i < 24; ++i) said += caller.hears(Health::kBroken, i % 2 == 0 ? Health::kDegraded : Health::kWell);
    EXPECT_EQ(said, 2) << "at once, and after an hour";
}

TEST(HealthTold, ThatAllIsWellIsSaidOnce) {
    Caller caller;
    for (int i = 0; i < 3; ++i) caller.hears(Health::kBroken, Health::kBroken);
    EXPECT_FALSE(caller.hears(Health::kBroken, Health::kWell));
    EXPECT_TRUE(caller.hears(Health::kWell, Health::kWell)) << "it says that all is well";
    for (int i = 0; i < 20; ++i) EXPECT_FALSE(caller.hears(Health::kWell)) << "it would say the same again";
}

TEST(HealthTold, WhatLastsIsSaidEveryHour) {
    Caller caller;
    int said = 0;
    for (int i = 0; i < 12 * 24; ++i) said += caller.hears(Health::kBroken) ? 1 : 0;
    EXPECT_EQ(said, 24);
    caller.now_ -= 86400;
    EXPECT_TRUE(caller.hears(Health::kBroken)) << "a clock that was set back does not silence it";
}

TEST(HealthTold, AnyOtherFileIsNone) {
    for (const char* text : {"", "x", "sluice health told 2\n", "sluice health told 1\n-\n-\n0\n",
                             "sluice health told 2\n= a=\n==\nnan\n"}) {
        Caller caller;
        caller.file_ = text;
        EXPECT_FALSE(caller.hears(Health::kBroken));
        EXPECT_TRUE(caller.hears(Health::kBroken)) << text;
    }
}

}  // namespace
}  // namespace sluice::test
