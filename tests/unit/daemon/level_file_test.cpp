// SPDX-License-Identifier: LGPL-3.0-or-later
#include "src/daemon/level_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sluice/base/files.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(LevelIn, TheLastLineThatFitsCounts) {
    std::vector<std::string> wrong;
    EXPECT_EQ(level_in("", "feeder", wrong), std::nullopt);
    EXPECT_EQ(level_in("feeder 4\n", "feeder", wrong), LogLevel::kDebug);
    EXPECT_EQ(level_in("feeder 4\n", "feed", wrong), std::nullopt);
    EXPECT_EQ(level_in("all 2\n  feeder   4 \n\nother 1", "feeder", wrong), LogLevel::kDebug);
    EXPECT_EQ(level_in("feeder 4\r\nall 2", "feeder", wrong), LogLevel::kWarning);
    EXPECT_THAT(wrong, IsEmpty());
    EXPECT_EQ(level_in("feeder\nfeeder 5\nfeeder debug\n4", "feeder", wrong), std::nullopt);
    EXPECT_THAT(wrong, ElementsAre("feeder", "feeder 5", "feeder debug", "4"));
}

TEST(LevelFileTest, SetsTheLevelWhileItIsThere) {
    const TempDir project;
    log_open({.file = (project / "log").string(), .level = LogLevel::kNormal});
    LevelFile levels(project / kLogLevels, "feeder");
    levels.look();
    EXPECT_EQ(log_level(), LogLevel::kNormal);
    project.write(kLogLevels, "feeder 4\nnonsense\n");
    levels.look();
    EXPECT_EQ(log_level(), LogLevel::kDebug);
    levels.look();
    project.write(kLogLevels, "transitioner 4\n");
    levels.look();
    EXPECT_EQ(log_level(), LogLevel::kNormal) << "not its line";
    project.write(kLogLevels, "all 1\n");
    levels.look();
    EXPECT_EQ(log_level(), LogLevel::kCritical);
    fs::remove(project / kLogLevels);
    levels.look();
    EXPECT_EQ(log_level(), LogLevel::kNormal);
    const std::string log = read_file(project / "log").value_or("");
    EXPECT_THAT(log, HasSubstr("The log level is 4 from now on ("));
    EXPECT_THAT(log, HasSubstr("'nonsense' is not a program (or all) and a level from 1 to 4"));
    EXPECT_EQ(log.find("nonsense"), log.rfind("nonsense")) << "said once";
    log_open({});
}

TEST(LevelFileTest, CountsForWhoStartsWhileItIsThere) {
    const TempDir project;
    project.write(kLogLevels, "all 4\n");
    log_open({.file = (project / "log").string()});
    LevelFile(project / kLogLevels, "feeder").look();
    EXPECT_EQ(log_level(), LogLevel::kDebug);
    log_open({});
}

}  // namespace
}  // namespace sluice::test
