// sluice_options --check on a project whose database answers: what feeder and all programs refuse then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/files.h"
#include "tests/support/test_project.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CheckWithDatabase : public testing::Test {
  protected:
    CheckWithDatabase() : project_(PrivateMariaDb::shared(), "checked") { project_.store(); }

    std::string check() { return project_.run_program("sluice_options", {"--check", project_.folder().string()}).out; }
    void homogeneous(int project, int up, int other) {
        project_.set_options("<homogeneous_redundancy>" + std::to_string(project) + "</homogeneous_redundancy>");
        Sql one("UPDATE app SET homogeneous_redundancy="), two("UPDATE app SET homogeneous_redundancy=");
        project_.db().execute(one << up << " WHERE name='up'");
        project_.db().execute(two << other << " WHERE name='other'");
    }
    /// In config.xml, once.
    void replace(const std::string& old_text, const std::string& new_text) {
        std::string config = *read_file(project_.folder() / "config.xml");
        const std::size_t at = config.find(old_text);
        ASSERT_NE(at, std::string::npos) << config;
        write_file_atomically(project_.folder() / "config.xml", config.replace(at, old_text.size(), new_text));
    }
    void add_feeder(const std::string& arguments) {
        replace("</boinc>", "<daemons><daemon><cmd>feeder" + arguments + "</cmd></daemon></daemons></boinc>");
    }
    TestProject project_;
};

TEST_F(CheckWithDatabase, HrSettingsThatTheFeederRefusesAreErrors) {
    project_.db().execute(Sql("INSERT INTO app (name,user_friendly_name,create_time) VALUES ('other','Other',1)"));
    const std::string both = "homogeneous redundancy is set both in config.xml", mixed = "needs feeder --allapps";
    const auto is_error = [](const std::string& text) { return AllOf(HasSubstr("error: "), HasSubstr(text)); };
    homogeneous(0, 1, 1);
    EXPECT_THAT(check(), AllOf(Not(HasSubstr("homogeneous")), Not(HasSubstr("were not looked at: can't"))));
    homogeneous(1, 2, 0);
    EXPECT_THAT(check(), is_error(both));
    homogeneous(0, 1, 2);
    EXPECT_THAT(check(), is_error(mixed));
    add_feeder(" -d 3 --allapps");
    EXPECT_THAT(check(), Not(HasSubstr(mixed)));
    homogeneous(3, 0, 0);
    EXPECT_THAT(check(), is_error("homogeneous_redundancy"));
    homogeneous(0, 7, 7);
    EXPECT_THAT(check(), is_error("app up has homogeneous_redundancy 7"));
}

TEST_F(CheckWithDatabase, DaemonsThatBatchesNeedAreNamed) {
    project_.set_options("<plan_batches>1</plan_batches>");
    EXPECT_THAT(check(), Not(HasSubstr("batch_planner"))) << "there is no batch";
    project_.db().execute(
        Sql("INSERT INTO batch (user_id, create_time, logical_start_time, logical_end_time, "
            "est_completion_time, njobs, fraction_done, nerror_jobs, state, completion_time, "
            "credit_estimate, credit_canonical, credit_total, name, app_id, project_state, "
            "description, expire_time) VALUES (1,1,0,0,0,0,0,0,1,0,0,0,0,'b',1,0,'',0)"));
    EXPECT_THAT(check(), AllOf(HasSubstr("warning: <plan_batches> is on and there are batches"),
                               HasSubstr("add <daemon><cmd>batch_planner</cmd></daemon>")));
}

TEST_F(CheckWithDatabase, AWrongPasswordOrDatabaseIsAnErrorThatNamesTheOption) {
    EXPECT_THAT(check(), Not(testing::AnyOf(HasSubstr("db_"), HasSubstr("the apps were not looked at"))));
    replace("<db_name>checked<", "<db_name>no_such_database<");
    EXPECT_THAT(check(), AllOf(HasSubstr("error: "), HasSubstr("no_such_database"), HasSubstr("<db_name>"),
                               Not(HasSubstr("can be used"))));
    replace("<db_name>no_such_database<", "<db_name>checked<");
    replace("<db_passwd>", "<db_passwd>x");
    EXPECT_THAT(check(), AllOf(HasSubstr("error: "), HasSubstr("<db_passwd>"), Not(HasSubstr("can be used"))));
}

}  // namespace
}  // namespace sluice::test
