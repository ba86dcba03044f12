// SPDX-License-Identifier: LGPL-3.0-or-later
// app_settings: what xadd leaves alone (it says "Skipped" of an app that is there) can be changed without SQL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/files.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/test_project.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Table = std::vector<std::vector<std::string>>;

class AppSettings : public testing::Test {
  protected:
    AppSettings() : project_(PrivateMariaDb::shared(), "settings") {
        AppVersion version = project_.rows().versions.at(1);
        version.id = 2;
        version.plan_class = "mt";
        project_.rows().versions[2] = version;
        version.id = 3;
        version.version_num = 200;
        project_.rows().versions[3] = version;
        project_.store();
    }
    RunResult settings(std::vector<std::string> words) {
        words.insert(words.begin(), "up");
        return project_.run_program("app_settings", words);
    }
    Table apps() {
        return rows_of(project_.db(),
                       Sql("SELECT n_size_classes, weight, beta, deprecated, user_friendly_name, name FROM app"), 6);
    }
    Table deprecated() {
        return rows_of(project_.db(), Sql("SELECT id FROM app_version WHERE deprecated=1 ORDER BY id"), 1);
    }
    bool feeder_is_told() { return fs::remove(project_.folder() / "reread_db"); }
    TestProject project_;
};

TEST_F(AppSettings, AreShownAndChanged) {
    const RunResult shown = settings({});
    EXPECT_EQ(shown.status, 0) << shown.err;
    EXPECT_THAT(shown.out, AllOf(HasSubstr("  user_friendly_name=Upcase\n"), HasSubstr("  n_size_classes=0\n"),
                                 HasSubstr("  version 100 x86_64-pc-linux-gnu, plan class mt\n")));
    EXPECT_FALSE(feeder_is_told());
    const RunResult changed = settings({"n_size_classes=5", "weight=2.5", "beta=1"});
    EXPECT_EQ(changed.status, 0) << changed.err;
    EXPECT_EQ(apps(), (Table{{"5", "2.5", "1", "0", "Upcase", "up"}}));
    EXPECT_TRUE(feeder_is_told());
    EXPECT_EQ(settings({"deprecated=1", "user_friendly_name=It's"}).status, 0);
    EXPECT_EQ(apps(), (Table{{"5", "2.5", "1", "1", "It's", "up"}}));
}

// Without a regulator the jobs of an app with size classes are never sent: --check looks at the apps that there are.
TEST_F(AppSettings, CheckFindsUnattendedSizeClasses) {
    const auto check = [&] {
        return project_.run_program("sluice_options", {"--check", project_.folder().string()}).out;
    };
    EXPECT_THAT(check(), AllOf(Not(HasSubstr("size_regulator")), Not(HasSubstr("the apps were not looked at"))));
    EXPECT_EQ(settings({"n_size_classes=5"}).status, 0);
    EXPECT_THAT(check(), AllOf(HasSubstr("warning: app up has 5 size classes, but no size_regulator"),
                               HasSubstr("warning: app up has 5 size classes, but no size_census")));
    std::string config = *read_file(project_.folder() / "config.xml");
    config.replace(
        config.find("</boinc>"), 0,
        "<daemons><daemon><cmd>size_regulator --app_name up --lo 1 --hi 5 --sleep_time 9</cmd></daemon></daemons>"
        "<tasks><task><cmd>size_census</cmd><period>1 day</period></task></tasks>");
    write_file_atomically(project_.folder() / "config.xml", config);
    EXPECT_THAT(check(), Not(HasSubstr("has 5 size classes")));
}

TEST_F(AppSettings, WrongOnesChangeNothing) {
    const Table before = apps();
    for (const char* wrong :
         {"n_size_classes=many", "n_size_classes=-1", "weight=x", "colour=red", "name=other", "beta"})
        EXPECT_EQ(settings({"weight=3", wrong}).status, 1) << wrong;
    const RunResult unknown = project_.run_program("app_settings", {"upp", "weight=3"});
    EXPECT_EQ(unknown.status, 1);
    EXPECT_THAT(unknown.err, HasSubstr("there are: up"));
    EXPECT_EQ(apps(), before);
    EXPECT_FALSE(feeder_is_told());
}

TEST_F(AppSettings, VersionsAreDeprecatedAndBack) {
    EXPECT_EQ(settings({"--app_version", "100", "--plan_class", "mt", "deprecated=1"}).status, 0);
    EXPECT_EQ(deprecated(), (Table{{"2"}}));
    const RunResult all = settings({"--app_version", "100", "deprecated=1"});
    EXPECT_EQ(all.out,
              "  version 100 x86_64-pc-linux-gnu, deprecated\n"
              "  version 100 x86_64-pc-linux-gnu, plan class mt, deprecated\n");
    EXPECT_EQ(deprecated(), (Table{{"1"}, {"2"}}));
    EXPECT_TRUE(feeder_is_told());
    EXPECT_EQ(settings({"--app_version", "100", "deprecated=0"}).status, 0);
    EXPECT_EQ(deprecated(), Table{});
    EXPECT_TRUE(feeder_is_told());
    for (const std::vector<std::string>& wrong :
         std::vector<std::vector<std::string>>{{"--app_version", "105", "deprecated=1"},
                                               {"--app_version", "100", "--platform", "vax", "deprecated=1"},
                                               {"--app_version", "100", "beta=1"},
                                               {"--app_version", "100"}})
        EXPECT_EQ(settings(wrong).status, 1) << wrong.back();
    EXPECT_EQ(deprecated(), Table{});
    EXPECT_FALSE(feeder_is_told());
}

}  // namespace
}  // namespace sluice::test
