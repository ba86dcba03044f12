// SPDX-License-Identifier: LGPL-3.0-or-later
// When a move has failed: signs that last or come again count, others do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <fstream>

#include "sched/adopt/program_files.h"
#include "sched/adopt/watch.h"
#include "sluice/base/files.h"
#include "sluice/base/log_record.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

constexpr const char* kCritical = "2026-01-01 00:00:00.0000 UTC [PID=7    ] [CRITICAL] no database";

Look look_at(double second) {
    Look seen;
    seen.at = second;
    return seen;
}
Look with_line(double second) {
    Look seen = look_at(second);
    seen.critical["feeder.log"] = kCritical;
    return seen;
}

/// What it says of several looks, one after the other.
std::string judge_all(WatchRule& rule, const std::vector<Look>& looks) {
    std::string said;
    for (const Look& look : looks) said += rule.judge(look);
    return said;
}

TEST(MoveWatch, DaemonsAreGoneAfterThreeLooks) {
    WatchRule rule(60);
    Look gone = look_at(0);
    gone.gone = {"feeder -d 3"};
    EXPECT_EQ(judge_all(rule, {gone, gone, look_at(2), gone, gone}), "") << "cron has started it again";
    EXPECT_THAT(rule.judge(gone), HasSubstr("'feeder -d 3' has ended"));
}

TEST(MoveWatch, CriticalLinesThatLastAreAFailure) {
    WatchRule rule(60), once(60), brief(5);
    EXPECT_EQ(judge_all(rule, {with_line(0), with_line(1), with_line(2), look_at(11)}), "")
        << "a database that restarts is back by then";
    EXPECT_THAT(rule.judge(with_line(12)), HasSubstr("no database"));
    EXPECT_EQ(judge_all(once, {with_line(0), with_line(59)}), "") << "two looks are no series";
    EXPECT_EQ(judge_all(brief, {with_line(0), with_line(.5)}), "");
    EXPECT_THAT(brief.judge(with_line(1)), HasSubstr("again and again"));
}

TEST(MoveWatch, ASchedulerThatFallsSilentIsAFailure) {
    WatchRule rule(60);
    Look silent = look_at(0), serves = look_at(1);
    silent.served = false, silent.silence = "cgi hangs", serves.served = true;
    EXPECT_EQ(judge_all(rule, std::vector<Look>(10, silent)), "") << "the array is filled meanwhile";
    EXPECT_FALSE(rule.served());
    EXPECT_EQ(rule.judge(serves), "");
    EXPECT_TRUE(rule.served());
    EXPECT_EQ(judge_all(rule, {silent, look_at(9), silent}), "");
    EXPECT_THAT(rule.judge(silent), HasSubstr("no longer: cgi hangs"));
}

TEST(MoveWatch, ALogIsReadFromItsEndOn) {
    const TempDir dir;
    const auto file = dir.write("feeder.log", std::string(kCritical) + "\n");
    LogTail log(file);
    EXPECT_EQ(log.critical_line(), "");
    std::ofstream(file, std::ios::app) << kCritical;
    EXPECT_EQ(log.critical_line(), "") << "the line is not whole yet";
    std::ofstream(file, std::ios::app) << "\n";
    EXPECT_EQ(log.critical_line(), kCritical);
    EXPECT_EQ(log.critical_line(), "") << "each once";
    std::ofstream(file) << kCritical << "\n";
    EXPECT_EQ(log.critical_line(), kCritical) << "a new file";
    std::ofstream(file, std::ios::app) << json_line({0, "normal", "feeder", 7, "", "x UTC [CRITICAL] y"})
                                       << json_line({0, "critical", "feeder", 7, "", "no database"});
    EXPECT_EQ(log.critical_line(), "1970-01-01 00:00:00.0000 UTC [PID=7    ] [CRITICAL] no database");
    EXPECT_FALSE(is_critical("2026-01-01 UTC [PID=7    ] [HOST#1] its name is x UTC [CRITICAL] y"));
    EXPECT_FALSE(is_critical("2026-01-01 UTC [PID=7    ] [CRITICAL] [HOST#4] platform 'x' not found"));
    EXPECT_FALSE(is_critical("2026-01-01 UTC [PID=7    ] [CRITICAL] [USER#4] x"));
}

TEST(MovedFiles, TheWayBackWritesNoFile) {
    const TempDir dir;
    const auto kept = dir.write("before-sluice/cgi-bin/cgi", "old");
    const auto place = dir.write("cgi-bin/cgi", "ours"), other_name = dir / "elsewhere";
    fs::create_hard_link(place, other_name);
    const auto inode_of = [](const fs::path& file) {
        struct stat info {};
        return ::stat(file.c_str(), &info) == 0 ? info.st_ino : 0;
    };
    const auto inode = inode_of(kept);
    put_programs_back(dir / "before-sluice", dir.path(), {{"cgi-bin/cgi"}, {}});
    EXPECT_EQ(read_file(place), "ours") << "it leaves last";
    put_web_programs_back(dir / "before-sluice", dir.path());
    EXPECT_EQ(inode_of(place), inode) << "a rename needs no room";
    EXPECT_EQ(read_file(place), "old");
    EXPECT_EQ(read_file(other_name), "ours") << "nobody wrote through the name";
    put_web_programs_back(dir / "before-sluice", dir.path());
    EXPECT_EQ(read_file(place), "old") << "a call that was killed is repeated";
}

}  // namespace
}  // namespace sluice::test
