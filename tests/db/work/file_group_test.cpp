// SPDX-License-Identifier: LGPL-3.0-or-later
// create_work puts jobs into file groups: by --file_group, at compat_level 1 by the app alone.
#include <gmock/gmock.h>

#include "tests/db/work/work_chain.h"

namespace sluice::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FileGroups : public WorkChain {
  protected:
    FileGroups() {
        project_.write("templates/a_in",
                       "<file_info><sticky/></file_info><file_info><sticky/></file_info><file_info/><workunit>"
                       "<file_ref><open_name>a</open_name></file_ref><file_ref><open_name>b</open_name></file_ref>"
                       "<file_ref><open_name>c</open_name></file_ref></workunit>");
        lite(1);
        stage("small", "1");
        stage("large", "12345");
        stage("own", "1234567890");
    }
    void lite(int locality) {
        Sql sql("UPDATE app SET locality_scheduling=");
        db_.execute(sql << locality);
    }
    void level_1() {
        std::string text = read_file(project_ / "config.xml").value();
        text.insert(text.find("<config>") + 8, "<compat_level>1</compat_level>");
        project_.write("config.xml", text);
    }
    RunResult create(const std::string& name, std::vector<std::string> more = {}) {
        std::vector<std::string> args{"create_work", "--appname", "a", "--wu_name", name};
        args.insert(args.end(), more.begin(), more.end());
        args.insert(args.end(), {"small", "large", "own"});
        return run_program(args);
    }
    /// Workunit, file, since when there is no work. No table is as good as no row.
    Table groups() {
        const std::int64_t there = number_of(
            db_, Sql("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema=DATABASE() AND table_name LIKE "
                     "'sluice\\_file\\_group%'"));
        if (there == 0) return {};
        return rows_of(
            db_,
            Sql("SELECT w.name, g.name, g.idle_since FROM sluice_file_group_wu j JOIN sluice_file_group g ON "
                "g.id=j.group_id JOIN workunit w ON w.id=j.workunitid ORDER BY w.name"),
            3);
    }
};

TEST_F(FileGroups, ByAppAtLevel1LargestStickyFile) {
    EXPECT_EQ(create("w0").status, 0);
    EXPECT_THAT(groups(), IsEmpty()) << "upstream's level";
    level_1();
    EXPECT_EQ(create("w1").status, 0);
    EXPECT_EQ(create("w2", {"--target_host", "7"}).status, 0) << "an assigned job is nobody else's";
    lite(0);
    EXPECT_EQ(create("w3").status, 0);
    EXPECT_EQ(groups(), (Table{{"w1", "large", "0"}})) << "own is larger, but not sticky";
}

TEST_F(FileGroups, ByTheOptionAtBothLevels) {
    EXPECT_EQ(create("w0", {"--file_group", "small"}).status, 0);
    level_1();
    const auto lines = run_program({"create_work", "--appname", "a", "--stdin"},
                                   "--wu_name w1 --file_group small small large own\n"
                                   "--wu_name w2 small large own\n"
                                   "--wu_name w3 --file_group large small large own\n");
    EXPECT_EQ(lines.status, 0) << lines.err;
    EXPECT_EQ(groups(),
              (Table{{"w0", "small", "0"}, {"w1", "small", "0"}, {"w2", "large", "0"}, {"w3", "large", "0"}}));
}

TEST_F(FileGroups, NewWorkEndsIdleTimeOfGroup) {
    EXPECT_EQ(create("w0", {"--file_group", "small"}).status, 0);
    db_.execute(Sql("UPDATE sluice_file_group SET idle_since=77"));
    EXPECT_EQ(create("w1", {"--file_group", "small"}).status, 0);
    EXPECT_EQ(groups(), (Table{{"w0", "small", "0"}, {"w1", "small", "0"}}));
}

// The feeder had taken it out, since its files were released.
TEST_F(FileGroups, OverwrittenJobIsInItsGroupAgain) {
    level_1();
    EXPECT_EQ(create("w0").status, 0);
    db_.execute(Sql("DELETE FROM sluice_file_group_wu"));
    db_.execute(Sql("UPDATE workunit SET file_delete_state=2"));
    const std::string id = rows_of(db_, Sql("SELECT id FROM workunit"), 1).at(0).at(0);
    const RunResult r = create("w0", {"--wu_id", id});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(groups(), (Table{{"w0", "large", "0"}}));
    EXPECT_EQ(count("file_delete_state=0"), 1);
}

TEST_F(FileGroups, WhatIsWrongIsSaidAndNothingInserted) {
    const auto refused = [&](const std::string& why, const std::vector<std::string>& more) {
        const RunResult r = create("w", more);
        EXPECT_EQ(r.status, 1) << why;
        EXPECT_THAT(r.err, HasSubstr(why));
    };
    refused("no input file of that name whose <file_info> is <sticky/>", {"--file_group", "own"});
    refused("--file_group nosuch", {"--file_group", "nosuch"});
    refused("in no file group: leave out --file_group", {"--file_group", "small", "--target_user", "1"});
    refused("can't change the group of a workunit that is there", {"--file_group", "small", "--wu_id", "1"});
    lite(0);
    refused("app a is not for locality: set its locality_scheduling to 1", {"--file_group", "small"});
    EXPECT_EQ(count("1=1"), 0);
    EXPECT_THAT(groups(), IsEmpty());
}

}  // namespace
}  // namespace sluice::test
