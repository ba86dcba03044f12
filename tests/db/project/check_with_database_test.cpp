// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice_options --check on a project whose database answers: what feeder and all programs refuse then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sluice/base/files.h"
#include "sluice/db/schema_survey.h"
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
                               HasSubstr("add <daemon><cmd>batches</cmd></daemon>")));
}

TEST_F(CheckWithDatabase, JobsWithoutBatchAndPayerAreNamed) {
    const auto option = [&](const std::string& whose, const std::string& rule = "settled") {
        project_.set_options("<share_rule>" + rule + "</share_rule><jobs_without_batch>" + whose +
                             "</jobs_without_batch>");
    };
    const auto execute = [&](const Sql& sql) { project_.db().execute(sql); };
    for (const char* whose : {"free", "refuse"}) {
        option(whose);
        EXPECT_THAT(check(), Not(HasSubstr("have no batch"))) << "there are none";
    }
    project_.add_unsent_jobs(1);
    EXPECT_THAT(check(), HasSubstr("warning: 1 unsent jobs have no batch, and <jobs_without_batch> refuses them"));
    option("free");
    EXPECT_THAT(check(), Not(HasSubstr("have no batch"))) << "nobody has a quota";
    execute(
        Sql("INSERT INTO user_submit (user_id, quota, logical_start_time, submit_all, manage_all, "
            "max_jobs_in_progress) VALUES (99,1,0,0,0,0)"));
    EXPECT_THAT(check(), AllOf(HasSubstr("warning: 1 unsent jobs have no batch: nobody is charged"),
                               HasSubstr("<jobs_without_batch>USER</jobs_without_batch>")));
    project_.set_options("<compat_level>1</compat_level>");
    EXPECT_THAT(check(), HasSubstr("warning: 1 unsent jobs have no batch: nobody is charged"));
    option("free", "off");
    EXPECT_THAT(check(), Not(HasSubstr("have no batch")));
    option("nobody@example.org");
    EXPECT_THAT(check(), AllOf(HasSubstr("warning: <jobs_without_batch> of config.xml is nobody@example.org, and there "
                                         "is no such user"),
                               HasSubstr("<jobs_without_batch> names a user, but batch_shares is not among")));
    const std::int64_t user = number_of(project_.db(), Sql("SELECT MIN(id) FROM user"));
    option(std::to_string(user));
    EXPECT_THAT(check(), HasSubstr("owns the jobs without a batch (<jobs_without_batch>) and has no quota"));
    execute(Sql("UPDATE user_submit SET user_id=") << user);
    EXPECT_THAT(check(), Not(HasSubstr("without a batch")));
}

TEST_F(CheckWithDatabase, AWrongPasswordNamesTheOption) {
    EXPECT_THAT(check(), Not(testing::AnyOf(HasSubstr("db_"), HasSubstr("the apps were not looked at"))));
    replace("<db_name>checked<", "<db_name>no_such_database<");
    EXPECT_THAT(check(), AllOf(HasSubstr("error: "), HasSubstr("no_such_database"), HasSubstr("<db_name>"),
                               Not(HasSubstr("can be used"))));
    replace("<db_name>no_such_database<", "<db_name>checked<");
    replace("<db_passwd>", "<db_passwd>x");
    EXPECT_THAT(check(), AllOf(HasSubstr("error: "), HasSubstr("<db_passwd>"), Not(HasSubstr("can be used"))));
}

TEST_F(CheckWithDatabase, ALackingColumnIsNamedWithItsStatement) {
    EXPECT_THAT(check(), Not(testing::AnyOf(HasSubstr("in the database"), HasSubstr("ALTER TABLE")))) << "our own";
    project_.db().execute(Sql("ALTER TABLE host DROP COLUMN misc"));
    project_.db().execute(Sql("ALTER TABLE user DROP COLUMN login_token"));
    project_.db().execute(Sql("ALTER TABLE result DROP INDEX res_batch"));
    project_.db().execute(Sql("DROP TABLE token"));
    std::string said = check();
    EXPECT_THAT(said, AllOf(HasSubstr("warning: host.misc is not in the database (BOINC has it since November 2025"),
                            HasSubstr("ALTER TABLE host ADD COLUMN misc text"),
                            HasSubstr("ALTER TABLE user ADD COLUMN login_token char(32) not null default '';"),
                            HasSubstr("ALTER TABLE result ADD INDEX res_batch (batch);"),
                            HasSubstr("warning: the database has no table token")));
    EXPECT_EQ(said.find("error: host"), std::string::npos);
    project_.db().execute(Sql("ALTER TABLE result DROP COLUMN size_class"));
    project_.db().execute(Sql("DROP TABLE msg_to_host"));
    const RunResult broken = project_.run_program("sluice_options", {"--check", project_.folder().string()});
    EXPECT_EQ(broken.status, 1);
    EXPECT_THAT(
        broken.out,
        AllOf(HasSubstr("error: result.size_class is not in the database"),
              HasSubstr("ALTER TABLE result ADD COLUMN size_class smallint not null default -1;"),
              HasSubstr("error: the database has no table msg_to_host: programs stop at it; make it: create table")));
}

TEST_F(CheckWithDatabase, IdsThatRunOutAreErrors) {
    EXPECT_THAT(check(), Not(HasSubstr("overflow")));
    project_.db().execute(Sql("ALTER TABLE result AUTO_INCREMENT=1800000000"));
    const std::string said = check();
    EXPECT_THAT(said,
                AllOf(HasSubstr("error: result.id (int(11)) is about to overflow: the newest id is 1799999999, 84 %"),
                      HasSubstr("ALTER TABLE result MODIFY id bigint NOT NULL AUTO_INCREMENT;"),
                      HasSubstr("ALTER TABLE workunit MODIFY canonical_resultid bigint NOT NULL;"),
                      HasSubstr("ALTER TABLE assignment MODIFY resultid bigint NOT NULL;")));
    for (const SqlLiteral mend : {SqlLiteral("result MODIFY id bigint NOT NULL AUTO_INCREMENT"),
                                  SqlLiteral("workunit MODIFY canonical_resultid bigint NOT NULL"),
                                  SqlLiteral("assignment MODIFY resultid bigint NOT NULL")}) {
        Sql sql("ALTER TABLE ");
        project_.db().execute(sql << mend);
    }
    EXPECT_THAT(check(), Not(HasSubstr("overflow"))) << "bigint holds more";
    project_.db().execute(Sql("ALTER TABLE result MODIFY workunitid smallint unsigned NOT NULL DEFAULT 7"));
    project_.db().execute(Sql("ALTER TABLE host MODIFY userid smallint NULL DEFAULT NULL"));
    project_.db().execute(Sql("ALTER TABLE workunit AUTO_INCREMENT=60000"));
    project_.db().execute(Sql("ALTER TABLE user AUTO_INCREMENT=60000"));
    EXPECT_THAT(check(), AllOf(HasSubstr("ALTER TABLE result MODIFY workunitid bigint unsigned NOT NULL DEFAULT 7;"),
                               HasSubstr("ALTER TABLE host MODIFY userid bigint NULL;")));
}

TEST_F(CheckWithDatabase, AnUnmountedDownloadFolderIsNamed) {
    const fs::path download = project_.folder() / "download", input = project_.folder() / "input";
    const std::string away = "the download folder " + download.string() + " has no file, and app versions or jobs have";
    fs::remove_all(download);
    fs::create_directories(download / "1f");
    std::ofstream(input) << "x";
    const auto stage = [&] { return project_.run_program("stage_file", {"--copy", input.string()}); };
    project_.db().execute(Sql("UPDATE app_version SET xml_doc=''"));
    EXPECT_THAT(check(), Not(HasSubstr(away))) << "nobody needs it";
    project_.add_unsent_jobs(1);
    Sql job("UPDATE workunit SET xml_doc=");
    project_.db().execute(job << SqlBlob{"<url>" + project_.url() + "download/1f/x</url>"});
    EXPECT_THAT(check(), AllOf(HasSubstr("warning: " + away), HasSubstr("is a file system not mounted?")));
    EXPECT_THAT(stage().err, HasSubstr(away));
    EXPECT_FALSE(fs::exists(download / "1f" / "input")) << "nothing is written below a mount point";
    std::ofstream(download / "README") << "x";
    EXPECT_EQ(stage().status, 0);
    fs::remove(download / "README");
    EXPECT_THAT(check(), Not(HasSubstr(away)));
    fs::remove_all(download);
    fs::create_directory(download);
    project_.db().execute(Sql("UPDATE workunit SET file_delete_state=2"));
    EXPECT_EQ(stage().status, 0) << "somebody has deleted the files";
}

/// The programs connect as an account that has no right yet.
class CheckOfRights : public CheckWithDatabase {
  protected:
    CheckOfRights() {
        execute(Sql("CREATE OR REPLACE USER 'few'@'localhost' IDENTIFIED BY 'few_passwd'"));
        std::string config = *read_file(project_.folder() / "config.xml");
        const auto put = [&](const std::string& tag, const std::string& value) {
            const auto at = config.find("<" + tag + ">") + tag.size() + 2;
            config.replace(at, config.find("</" + tag + ">") - at, value);
        };
        put("db_user", "few"), put("db_passwd", "few_passwd");
        write_file_atomically(project_.folder() / "config.xml", config);
    }
    ~CheckOfRights() override { execute(Sql("DROP USER 'few'@'localhost'")); }

    void execute(const Sql& sql) { project_.db().execute(sql); }
    void grant(SqlLiteral rights, const std::string& table) {
        Sql sql("GRANT ");
        sql << rights << " ON checked.";
        execute(sql.identifier(table) << " TO 'few'@'localhost'");
    }
    void grant_in_each_table(SqlLiteral rights) {
        for (Rows tables = project_.db().query(
                 Sql("SELECT table_name FROM information_schema.tables WHERE table_schema='checked'"));
             tables.next();)
            grant(rights, tables.text(0));
    }
};

constexpr const char* kGrantAll =
    "as the server's root: GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER ON `checked`.* TO 'few'@'localhost';";

TEST_F(CheckOfRights, RightsThatAreMissingAreNamed) {
    execute(Sql("GRANT SELECT, INSERT, UPDATE, DELETE ON checked.* TO 'few'@'localhost'"));
    EXPECT_THAT(check(), AllOf(HasSubstr("warning: 'few'@'localhost' lacks rights in database checked: CREATE (of "
                                         "sluice_accel_job, "),
                               HasSubstr("feeder and scheduler do without"), HasSubstr(kGrantAll)));
    execute(Sql("REVOKE ALL ON checked.* FROM 'few'@'localhost'"));
    grant("SELECT", "host");
    EXPECT_THAT(check(), AllOf(HasSubstr("error: 'few'@'localhost' lacks rights in database checked: SELECT (of "),
                               HasSubstr("workunit"), Not(HasSubstr("has no table workunit")), HasSubstr(kGrantAll)));
    grant_in_each_table("SELECT, INSERT, UPDATE");
    EXPECT_THAT(check(), HasSubstr("DELETE (of assignment, sluice_"));
    execute(Sql("GRANT ALL ON checked.* TO 'few'@'localhost'"));
    EXPECT_THAT(check(), Not(HasSubstr("lacks rights")));
}

TEST_F(CheckOfRights, RightToOneTableIsForOneTable) {
    execute(Sql("GRANT SELECT, INSERT, UPDATE, DELETE ON checked.* TO 'few'@'localhost'"));
    grant("CREATE", "sluice_feeder");
    EXPECT_THAT(check(), AllOf(HasSubstr("lacks rights in database checked: CREATE (of sluice_accel_job, "),
                               HasSubstr("sluice_host_rpc, "), Not(HasSubstr("sluice_feeder"))));
}

TEST_F(CheckOfRights, RightsOfAnotherAccountDoNotCount) {
    execute(Sql("CREATE OR REPLACE USER 'all'@'localhost' IDENTIFIED BY 'all_passwd'"));
    execute(Sql("GRANT ALL ON checked.* TO 'all'@'localhost'"));
    execute(Sql("GRANT SELECT ON mysql.* TO 'few'@'localhost'"));  // who may see the other's
    execute(Sql("GRANT ALL ON `checke_`.* TO 'few'@'localhost'"));
    EXPECT_THAT(check(), Not(HasSubstr("lacks rights"))) << "a pattern";
    execute(Sql("REVOKE ALL ON `checke_`.* FROM 'few'@'localhost'"));
    execute(Sql("GRANT SELECT, INSERT, UPDATE ON checked.* TO 'few'@'localhost'"));
    EXPECT_THAT(check(),
                HasSubstr("error: 'few'@'localhost' lacks rights in database checked: DELETE (of assignment, "));
    execute(Sql("DROP USER 'all'@'localhost'"));
}

// As the server judges it: SHOW GRANTS names only what is granted to 'few'@'localhost'.
TEST_F(CheckOfRights, RightsOfSameNameFromAnyHostCount) {
    execute(Sql("CREATE OR REPLACE USER 'few'@'%' IDENTIFIED BY 'other_passwd'"));
    execute(Sql("GRANT ALL ON checked.* TO 'few'@'%'"));
    EXPECT_THAT(check(), Not(HasSubstr("lacks rights")));
    execute(Sql("DROP USER 'few'@'%'"));
}

TEST_F(CheckOfRights, OfTwoGrantsTheNarrowerPatternCounts) {
    execute(Sql("GRANT ALL ON `checke_`.* TO 'few'@'localhost'"));
    execute(Sql("GRANT SELECT, INSERT, UPDATE ON checked.* TO 'few'@'localhost'"));
    EXPECT_THAT(check(), HasSubstr("error: 'few'@'localhost' lacks rights in database checked: DELETE (of assignment"));
    execute(Sql("REVOKE ALL ON `checke_`.* FROM 'few'@'localhost'"));
}

TEST_F(CheckOfRights, AServerThatQuotesNoNamesIsUnderstood) {
    execute(Sql("GRANT ALL ON checked.* TO 'few'@'localhost'"));
    execute(Sql("SET GLOBAL sql_quote_show_create=0"));
    EXPECT_THAT(check(), Not(HasSubstr("lacks rights")));
    execute(Sql("SET GLOBAL sql_quote_show_create=1"));
}

TEST_F(CheckOfRights, RightsOfARoleWithinARoleCount) {
    execute(Sql("CREATE OR REPLACE ROLE staff"));
    execute(Sql("CREATE OR REPLACE ROLE boinc"));
    execute(Sql("GRANT ALL ON checked.* TO boinc"));
    execute(Sql("GRANT boinc TO staff"));
    execute(Sql("GRANT staff TO 'few'@'localhost'"));
    EXPECT_THAT(check(), HasSubstr("error: ")) << "no program takes the role on";
    execute(Sql("SET DEFAULT ROLE staff FOR 'few'@'localhost'"));
    EXPECT_THAT(check(), AllOf(Not(HasSubstr("lacks rights")), Not(HasSubstr("error: "))));
    execute(Sql("DROP ROLE boinc"));
    execute(Sql("DROP ROLE staff"));
}

TEST_F(CheckOfRights, NobodyNeedsToMakeTablesThatAreThere) {
    for (const std::string_view table : own_tables()) {
        Sql sql("CREATE TABLE IF NOT EXISTS ");
        execute(sql.identifier(std::string(table)) << " (id integer)");
    }
    grant_in_each_table("SELECT, INSERT, UPDATE, DELETE");
    EXPECT_THAT(check(), Not(HasSubstr("lacks rights"))) << "given table by table";
    execute(Sql("REVOKE DELETE ON checked.sluice_gang FROM 'few'@'localhost'"));
    execute(Sql("REVOKE INSERT ON checked.result FROM 'few'@'localhost'"));
    EXPECT_THAT(check(), HasSubstr("error: 'few'@'localhost' lacks rights in database checked: INSERT (of result), "
                                   "DELETE (of sluice_gang); programs stop at it; as the server's root: GRANT "));
}

TEST_F(CheckWithDatabase, AnUnreachableServerIsAnErrorUnlessExcluded) {
    replace("<db_host>localhost<", "<db_host>127.0.0.1:1<");
    const std::string folder = project_.folder().string();
    const RunResult asked = project_.run_program("sluice_options", {"--check", folder});
    EXPECT_EQ(asked.status, 1);
    EXPECT_THAT(asked.out, AllOf(HasSubstr("error: can't reach the database server at 127.0.0.1:1"),
                                 HasSubstr("the database was not looked at")));
    EXPECT_THAT(project_.run_program("sluice_options", {"--check", folder, "--no_database"}).out,
                AllOf(HasSubstr("note: the database was not looked at: --no_database"), Not(HasSubstr("can't reach"))));
}

TEST_F(CheckWithDatabase, AppsThatNobodyServesAreNamed) {
    EXPECT_THAT(check(),
                AllOf(HasSubstr("warning: app up has no validator"), HasSubstr("warning: app up has no assimilator")));
    replace(
        "</boinc>",
        "<daemons><daemon><cmd>my_validator --app=up</cmd></daemon><daemon><cmd>script_assimilator --app up --script "
        "'no_such_script files'</cmd></daemon></daemons></boinc>");
    EXPECT_THAT(check(), AllOf(Not(HasSubstr("app up has no")),
                               HasSubstr("error: --script of 'script_assimilator' can't be called: there is no "),
                               HasSubstr("bin/no_such_script")));
    project_.db().execute(Sql("UPDATE app SET deprecated=1"));
    EXPECT_THAT(check(), Not(HasSubstr("has no validator")));
}

}  // namespace
}  // namespace sluice::test
