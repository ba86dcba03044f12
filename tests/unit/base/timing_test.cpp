// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/timing.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "sluice/base/clock.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

TEST(MonotonicClock, CountsSecondsAndNeverGoesBack) {
    const MonotonicClock clock;
    const double before = clock.now();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const double waited = clock.now() - before;
    EXPECT_GE(waited, 0.02);
    EXPECT_LT(waited, 19) << "milliseconds?";
}

TEST(Periodic, IsDueTogetherAndThenEverySoOften) {
    Periodic minutely(60);
    EXPECT_TRUE(minutely.take(1000));
    EXPECT_FALSE(minutely.take(1000));
    EXPECT_FALSE(minutely.due(1059.9));
    EXPECT_TRUE(minutely.due(1060));
    EXPECT_TRUE(minutely.take(1075));
    EXPECT_FALSE(minutely.due(1134)) << "counted from when it was done";
    minutely.restart(1200);
    EXPECT_FALSE(minutely.due(1259));
    minutely.make_due();
    EXPECT_TRUE(minutely.take(1201));
}

TEST(Periodic, ClockThatIsSetBackDoesntStopIt) {
    Periodic minutely(60);
    EXPECT_TRUE(minutely.take(1e9));
    EXPECT_TRUE(minutely.take(5e8));
    EXPECT_FALSE(minutely.take(5e8 + 1));
}

TEST(BackOff, DoublesUpToTheLongestAndBeginsAnew) {
    BackOff wait(1, 5);
    EXPECT_EQ(wait.next(), 1);
    EXPECT_EQ(wait.next(), 2);
    EXPECT_EQ(wait.next(), 4);
    EXPECT_EQ(wait.next(), 5);
    EXPECT_EQ(wait.next(), 5);
    wait.reset();
    EXPECT_EQ(wait.next(), 1);
}

class TroubleLogTest : public testing::Test {
  protected:
    TroubleLogTest() { log_open({.file = (dir / "log").string()}); }
    ~TroubleLogTest() override { log_open({}); }
    int lines_with(const std::string& text) const {
        int n = 0;
        const std::string all = read_file(dir / "log").value_or("");
        for (auto at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) ++n;
        return n;
    }
    test::TempDir dir;
    TroubleLog trouble;
};

TEST_F(TroubleLogTest, DatabaseAwayIsOneStateWhateverItsMessages) {
    trouble.report({"can't connect", "trying again", true}, 1000);
    trouble.report({"timed out", "trying again", true}, 1100);
    EXPECT_EQ(lines_with("can't connect; trying again"), 1);
    EXPECT_EQ(lines_with("timed out"), 0);
    trouble.report({"timed out", "trying again", true}, 1600);
    EXPECT_EQ(lines_with("timed out; trying again"), 1) << "a reminder after ten minutes";
    trouble.over();
    trouble.over();
    EXPECT_EQ(lines_with("The database answers again"), 1);
}

TEST_F(TroubleLogTest, AnotherErrorIsAnotherState) {
    trouble.report({"no key", "waiting"}, 1000);
    trouble.report({"no file", "waiting"}, 1001);
    trouble.report({"no file", "waiting"}, 1002);
    EXPECT_EQ(lines_with("no key; waiting"), 1);
    EXPECT_EQ(lines_with("no file; waiting"), 1);
    trouble.over();
    EXPECT_EQ(lines_with("The error is gone"), 1);
    trouble.report({"no file", "waiting"}, 1003);
    EXPECT_EQ(lines_with("no file; waiting"), 2) << "it is news again";
}

TEST_F(TroubleLogTest, ClockThatIsSetBackDoesntSilenceIt) {
    trouble.report({"no key", "waiting"}, 1e9);
    trouble.report({"no key", "waiting"}, 5e8);
    EXPECT_EQ(lines_with("no key; waiting"), 2);
}

}  // namespace
}  // namespace sluice
