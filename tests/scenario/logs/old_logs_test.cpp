// SPDX-License-Identifier: LGPL-3.0-or-later
// Which files are old logs, and which of them go.
#include "daemons/cleaning/old_logs.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr double kDay = 86400;

TEST(OldLogs, NamesSayLogAndTime) {
    EXPECT_EQ(old_log_name("feeder.log", 1800000000), "feeder.log.20270115T080000Z");
    const auto old = old_log("feeder.log.20270115T080000Z");
    ASSERT_TRUE(old);
    EXPECT_EQ(old->log, "feeder.log");
    EXPECT_EQ(old->time, 1800000000);
    EXPECT_TRUE(old->plain && !old->packed);
    const auto packed = old_log("a.b.out.20270115T080000Z.gz");
    ASSERT_TRUE(packed);
    EXPECT_EQ(packed->log, "a.b.out");
    EXPECT_EQ(packed->name, "a.b.out.20270115T080000Z");
    EXPECT_TRUE(packed->packed && !packed->plain);
    const auto day = old_log("decisions_2027-01-15.jsonl");
    ASSERT_TRUE(day);
    EXPECT_EQ(day->log, "decisions");
    EXPECT_EQ(day->time, 1800057600 + 86400) << "when the day is over in all time zones";
}

TEST(OldLogs, OtherFilesAreNone) {
    for (const char* name :
         {"", ".", "..", "feeder.log", "feeder.log.1", "feeder.log.2.gz", "feeder.log.20270115T080000Z.xz",
          "feeder.log.20271301T080000Z", "feeder.log.2027115T080000Z", "feeder.log.20270115T080000Zx",
          ".20270115T080000Z", ".feeder.log.20270115T080000Z", "decisions_2027-02-30.jsonl", "decisions_.jsonl",
          "decisions_2027-01-15.json", "20270115T080000Z", ".gz"})
        EXPECT_FALSE(old_log(name)) << name;
    EXPECT_EQ(half_rotated(".feeder.log.new"), "feeder.log");
    for (const char* name : {".new", "feeder.log.new", ".feeder.log", ".feeder.log.20270115T080000Z.gz.new"})
        EXPECT_EQ(half_rotated(name), "") << name;
}

TEST(OldLogs, SizeOrAgeMakesALogDue) {
    const LogBounds bounds{.max_bytes = 1000, .every = 7 * kDay};
    EXPECT_FALSE(rotation_due(bounds, 1000, 0, 7 * kDay));
    EXPECT_TRUE(rotation_due(bounds, 1001, 0, 0));
    EXPECT_TRUE(rotation_due(bounds, 1, 0, 7 * kDay + 1));
    EXPECT_FALSE(rotation_due(bounds, 0, 0, 900 * kDay)) << "nothing stands in it";
    EXPECT_FALSE(rotation_due(bounds, 1, 900 * kDay, 0)) << "a clock that was wrong";
}

std::vector<std::int64_t> times_of(const std::vector<OldLog>& logs) {
    std::vector<std::int64_t> times;
    for (const OldLog& log : logs) times.push_back(log.time);
    return times;
}

TEST(OldLogs, WhatIsBeyondABoundGoes) {
    std::vector<OldLog> olds;
    for (const int day : {3, 1, 4, 2}) {
        OldLog& old = olds.emplace_back();
        old.log = "a.log", old.time = day * 86400, old.bytes = 100;
    }
    const std::int64_t d = 86400;
    const LogBounds wide{.max_bytes = 1000, .keep = 4, .keep_for = 60 * kDay};
    EXPECT_EQ(times_of(surplus(olds, wide, 4 * kDay)), (std::vector<std::int64_t>{}));
    LogBounds few = wide;
    few.keep = 3;
    EXPECT_EQ(times_of(surplus(olds, few, 4 * kDay)), (std::vector<std::int64_t>{d}));
    LogBounds young = wide;
    young.keep_for = 1.5 * kDay;
    EXPECT_EQ(times_of(surplus(olds, young, 4 * kDay)), (std::vector<std::int64_t>{2 * d, d}));
    LogBounds small = wide;
    small.max_bytes = 50;  // together 200
    EXPECT_EQ(times_of(surplus(olds, small, 4 * kDay)), (std::vector<std::int64_t>{2 * d, d}));
    small.max_bytes = 1;
    EXPECT_EQ(times_of(surplus(olds, small, 4 * kDay)), (std::vector<std::int64_t>{3 * d, 2 * d, d}))
        << "the newest stays, whatever its size";
    for (OldLog& old : olds) old.log = "decisions";
    EXPECT_EQ(times_of(surplus(olds, few, 4 * kDay)), (std::vector<std::int64_t>{})) << "days are not counted";
}

}  // namespace
}  // namespace sluice
