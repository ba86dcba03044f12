// SPDX-License-Identifier: LGPL-3.0-or-later
// When failures of the project's code are the fault of a workunit.
#include "daemons/validator/code_failures.h"

#include <gtest/gtest.h>

#include "daemons/validator/upload_tree.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

constexpr std::int64_t kStartTime = 1'000'000'000;
constexpr Id kBad = 7;

/// `n` failures of a workunit, ten minutes apart, with so many others judged before each.
void fail(CodeFailures& failures, int n, int others, std::int64_t& now, Id wu = kBad) {
    for (int i = 0; i < n; ++i, now += 600) {
        for (int j = 0; j < others; ++j) failures.judged(1000 + j);
        failures.failed(wu, now);
    }
}

TEST(CodeFailures, TenAreToBlameIfOthersAreJudged) {
    CodeFailures failures;
    std::int64_t now = kStartTime;
    fail(failures, 9, 1, now);
    EXPECT_FALSE(failures.is_to_blame(kBad, now));
    fail(failures, 1, 1, now);
    EXPECT_TRUE(failures.is_to_blame(kBad, now));
    EXPECT_EQ(failures.count(kBad), 10);
    failures.forget(kBad);
    EXPECT_FALSE(failures.is_to_blame(kBad, now));
}

TEST(CodeFailures, OutageIsNobodysFault) {
    CodeFailures failures;
    std::int64_t now = kStartTime;
    for (Id wu = 1; wu <= 20; ++wu) fail(failures, 50, 0, now, wu);
    for (Id wu = 1; wu <= 20; ++wu) EXPECT_FALSE(failures.is_to_blame(wu, now + 10 * kLongOutage));
}

TEST(CodeFailures, AfterAnOutageEachStartsAnew) {
    CodeFailures failures;
    std::int64_t now = kStartTime;
    fail(failures, 50, 0, now);
    fail(failures, 1, 100, now);
    EXPECT_FALSE(failures.is_to_blame(kBad, now)) << "those of the outage count as one";
}

TEST(CodeFailures, MoreMustBeJudgedThanFail) {
    CodeFailures failures;
    std::int64_t now = kStartTime;
    for (Id wu = 10; wu < 30; ++wu) failures.failed(wu, now);
    fail(failures, 10, 1, now);
    EXPECT_FALSE(failures.is_to_blame(kBad, now)) << "11 judged, 21 fail";
    for (Id wu = 10; wu < 25; ++wu) failures.judged(wu);
    EXPECT_TRUE(failures.is_to_blame(kBad, now));
}

TEST(CodeFailures, TenWithinAnHourAreTooFast) {
    CodeFailures failures;
    for (int i = 0; i < 20; ++i) {
        failures.judged(1);
        failures.failed(kBad, kStartTime + i);
    }
    EXPECT_FALSE(failures.is_to_blame(kBad, kStartTime + 20));
    EXPECT_TRUE(failures.is_to_blame(kBad, kStartTime + 3600));
}

TEST(CodeFailures, AfterAWeekAFewNeedNoOther) {
    CodeFailures failures;
    std::int64_t now = kStartTime;
    fail(failures, 10, 0, now);
    EXPECT_FALSE(failures.is_to_blame(kBad, now));
    EXPECT_TRUE(failures.is_to_blame(kBad, kStartTime + kLongOutage));
    for (Id wu = 1; wu <= 4; ++wu) failures.failed(wu, now);
    EXPECT_FALSE(failures.is_to_blame(kBad, kStartTime + kLongOutage)) << "five are many";
}

TEST(CodeFailures, FileKeepsThem) {
    const test::TempDir dir;
    std::int64_t now = kStartTime;
    for (int i = 0; i < 10; ++i) {
        CodeFailures failures(dir / "f");
        EXPECT_FALSE(failures.is_to_blame(kBad, now));
        fail(failures, 1, 0, now);
        failures.judged(1);
        failures.judged(2);
        EXPECT_EQ(failures.is_to_blame(kBad, now), i == 9);
        failures.save(now);
    }
    CodeFailures failures(dir / "f");
    EXPECT_EQ(failures.count(kBad), 10);
    failures.judged(kBad);
    failures.save(now);
    EXPECT_EQ(CodeFailures(dir / "f").count(kBad), 0);
}

TEST(CodeFailures, NobodysWorkunitIsForgotten) {
    const test::TempDir dir;
    CodeFailures failures(dir / "f");
    failures.failed(kBad, kStartTime);
    failures.save(kStartTime + 4 * kLongOutage);
    EXPECT_EQ(failures.count(kBad), 0);
}

TEST(CodeFailures, FileThatIsWrongCountsAsEmpty) {
    const test::TempDir dir;
    for (const char* text :
         {"", "x", "1 2 3\n", "9\n7 a b c d e f\n-7 -1 -1 -1 -1 -1 -1\n", "\n\n 7\n",
          "9223372036854775807\n7 9223372036854775807 9223372036854775807 9223372036854775807 0 0 0\n"}) {
        dir.write("f", text);
        CodeFailures failures(dir / "f");
        failures.judged(1);
        EXPECT_FALSE(failures.is_to_blame(kBad, kStartTime)) << text;
    }
    fs::remove(dir / "f");
    fs::create_directory(dir / "f");
    CodeFailures failures(dir / "f");
    failures.failed(kBad, kStartTime);
    failures.save(kStartTime);
    EXPECT_EQ(failures.count(kBad), 1);
}

}  // namespace
}  // namespace sluice
