// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice upgrade, the real program, on the tables of release 0.2.0 with jobs in progress: to the current version and
// back, killed at each statement. And the job array of a feeder of an older layout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sluice/db/share_store.h"
#include "sluice/db/tables_version.h"
#include "sluice/shmem/job_array.h"
#include "tests/support/database_rows.h"
#include "tests/support/paths.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/segment_files.h"
#include "tests/support/test_project.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string program_file(const std::string& name) { return binary_dir() + "/bin/" + name; }

/// Each table of ours: how it is made, and its rows.
using Tables = std::map<std::string, std::vector<std::string>>;

class TablesUpgradeTest : public testing::Test {
  protected:
    TablesUpgradeTest() : server_(PrivateMariaDb::shared()), project_(server_, "upgraded") {
        project_.store();
        project_.add_unsent_jobs(8);
    }
    void load_release() { server_.load("upgraded", source_dir() + "/tests/db/upgrade/v0.2.0.sql"); }
    RunResult upgrade(std::vector<std::string> words = {}) {
        words.insert(words.begin(), {program_file("sluice"), "upgrade"});
        words.push_back(project_.folder().string());
        return run(words, project_.run_options());
    }
    /// What sluice says of the project.
    std::string look(const std::string& command) {
        return run({program_file("sluice"), command, project_.folder().string()}, project_.run_options()).out;
    }
    Tables tables() {
        Tables all;
        Sql names(
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME LIKE "
            "'sluice\\_%' ORDER BY 1");
        for (const auto& row : rows_of(project_.db(), names, 1)) {
            Sql made("SHOW CREATE TABLE "), columns("SELECT COUNT(*) FROM information_schema.COLUMNS WHERE "), rows;
            columns << "TABLE_SCHEMA=DATABASE() AND TABLE_NAME=" << SqlText{row[0]};
            all[row[0]] = {rows_of(project_.db(), made.identifier(row[0]), 2)[0][1]};
            rows << "SELECT * FROM ";
            rows.identifier(row[0]);
            const int n = static_cast<int>(number_of(project_.db(), columns));
            for (const auto& values : rows_of(project_.db(), rows << " ORDER BY 1, 2", n))
                all[row[0]].push_back(testing::PrintToString(values));
        }
        return all;
    }
    /// The rows of jobs, users and hosts, which no upgrade may touch.
    std::vector<std::vector<std::string>> jobs() {
        return rows_of(project_.db(),
                       Sql("SELECT r.id, r.server_state, r.hostid, r.report_deadline, w.batch, w.transition_time FROM "
                           "result r JOIN workunit w ON w.id=r.workunitid ORDER BY r.id"),
                       6);
    }
    int version() { return tables_version(project_.db()).number; }
    /// What a version 2 has beside the tables of the release.
    static Tables at_version_two(Tables tables) {
        tables["sluice_marks"].push_back(R"({ "tables version", "2" })");
        std::erase(tables["sluice_gang_wait"], R"({ "9", "2", "0", "0", "1794000000", "0" })");
        return tables;
    }
    std::string ask() { return project_.rpc(work_request(0, 1, 1)).out; }

    PrivateMariaDb& server_;
    TestProject project_;
};

TEST_F(TablesUpgradeTest, GoesToTheCurrentVersionAndBack) {
    load_release();
    const Tables before = tables();
    const auto jobs_before = jobs();
    ASSERT_EQ(before.size(), 30u);
    EXPECT_EQ(version(), 1);
    EXPECT_THAT(look("check"), HasSubstr("the tables sluice_* are of version 1, and these programs make version 2"));
    EXPECT_THAT(look("health"),
                HasSubstr("the tables sluice_* are of version 1, and this brings them to the newest: "));

    const RunResult dry = upgrade({"--dry_run"});
    EXPECT_EQ(dry.status, 1) << dry.err;
    EXPECT_THAT(dry.out, HasSubstr("would go from version 1 to version 2"));
    EXPECT_THAT(dry.out, HasSubstr("DELETE FROM sluice_gang_wait WHERE members<=0\nsluice_marks: "));
    EXPECT_EQ(tables(), before);

    const RunResult done = upgrade({"--json"});
    ASSERT_EQ(done.status, 0) << done.out << done.err;
    const auto json = nlohmann::json::parse(done.out);
    EXPECT_EQ(json["version"], 1);
    EXPECT_EQ(json["wanted"], 2);
    EXPECT_EQ(json["changed"], true);
    EXPECT_EQ(json["statements"].size(), 2u) << done.out;
    EXPECT_EQ(tables(), at_version_two(before));
    EXPECT_EQ(jobs(), jobs_before);
    EXPECT_THAT(upgrade().out, HasSubstr("of version 2 already"));
    EXPECT_THAT(look("check"), HasSubstr("; tables sluice_* of version 2\n"));

    const RunResult back = upgrade({"--back"});
    ASSERT_EQ(back.status, 0) << back.out << back.err;
    EXPECT_EQ(version(), 1);
    Tables wanted = before;
    wanted["sluice_gang_wait"] = at_version_two(before)["sluice_gang_wait"];
    EXPECT_EQ(tables(), wanted);
    EXPECT_EQ(jobs(), jobs_before);
    EXPECT_EQ(upgrade({"--to", "1"}).status, 0);
    EXPECT_EQ(upgrade({"--to", "2"}).status, 0);
    EXPECT_EQ(version(), 2);
}

/// Killed before the first, second ... statement, each time from the start.
TEST_F(TablesUpgradeTest, FinishesAfterAKillAtAnyStatement) {
    load_release();
    const Tables before = tables();
    for (const std::pair<int, int>& way : {std::pair(1, 2), std::pair(2, 1)}) {
        const int from = way.first, to = way.second;
        int statements = 0;
        for (int fatal = 1; fatal <= 10; ++fatal) {
            if (version() != from) change_tables(project_.db(), to, from, [](const std::string&) { return true; });
            if (from == 1)
                project_.db().execute(Sql("REPLACE INTO sluice_gang_wait VALUES (9, 2, 0, 0, 1794000000, 0)"));
            const pid_t child = ::fork();
            if (child == 0) {
                Database db(server_.settings("upgraded"));
                int n = 0;
                change_tables(db, from, to, [&](const std::string&) {
                    if (++n == fatal) ::raise(SIGKILL);
                    return true;
                });
                ::_exit(0);
            }
            int status = 0;
            ASSERT_EQ(::waitpid(child, &status, 0), child);
            if (!WIFSIGNALED(status)) break;
            ++statements;
            EXPECT_EQ(version(), from);
            ASSERT_EQ(upgrade({"--to", std::to_string(to)}).status, 0);
            EXPECT_EQ(version(), to);
            if (to == 2) {
                EXPECT_EQ(tables(), at_version_two(before));
            }
        }
        EXPECT_EQ(statements, from == 1 ? 2 : 1);
    }
}

TEST_F(TablesUpgradeTest, ANewerVersionIsRefusedInOneLine) {
    load_release();
    project_.db().execute(Sql("INSERT INTO sluice_marks VALUES ('tables version', 3)"));
    const Tables before = tables();
    const RunResult refused = upgrade();
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.err, HasSubstr("are of version 3, and this program knows versions up to 2"));
    EXPECT_EQ(std::ranges::count(refused.err, '\n'), 1) << refused.err;
    for (const char* daemon : {"feeder", "transitioner", "batches", "batch_upkeep"}) {
        const RunResult said = project_.run_program(daemon, {"--one_pass"});
        EXPECT_NE(said.status, 0) << daemon;
        EXPECT_THAT(said.err + said.out, HasSubstr("sluice upgrade --to 2 PROJECT")) << daemon;
    }
    EXPECT_THAT(ask(), HasSubstr("</scheduler_reply>"));
    EXPECT_EQ(tables(), before);
    EXPECT_EQ(upgrade({"--to", "3"}).status, 2);
}

/// The database was away when they started. Without a one-pass they wait for it, and then ask.
TEST_F(TablesUpgradeTest, NewerTablesAreRefusedAlsoLater) {
    load_release();
    project_.db().execute(Sql("INSERT INTO sluice_marks VALUES ('tables version', 3)"));
    const Tables before = tables();
    const auto jobs_before = jobs();
    server_.stop();
    std::vector<Subprocess*> daemons;
    for (const char* daemon : {"feeder", "transitioner", "batches", "batch_upkeep"})
        daemons.push_back(&project_.start(daemon));
    for (Subprocess* daemon : daemons) EXPECT_TRUE(daemon->wait_for_output("trying again until it works"));
    server_.start();
    for (Subprocess* daemon : daemons) {
        const auto ended = daemon->wait();
        ASSERT_TRUE(ended);
        EXPECT_EQ(ended->status, 1) << ended->err;
        EXPECT_THAT(ended->err, HasSubstr("sluice upgrade --to 2 PROJECT"));
    }
    EXPECT_EQ(tables(), before);
    EXPECT_EQ(jobs(), jobs_before);
}

TEST_F(TablesUpgradeTest, DaemonsThatRunAreRefused) {
    load_release();
    fs::create_symlink(program_file("start"), project_.folder() / "bin/stop");
    fs::create_symlink(program_file("start"), project_.folder() / "bin/start");
    fs::create_symlink(program_file("transitioner"), project_.folder() / "bin/transitioner");
    const fs::path file = project_.folder() / "config.xml";
    std::ifstream in(file);
    std::string config{std::istreambuf_iterator<char>(in), {}};
    config.insert(config.find("</boinc>"), "<daemons><daemon><cmd>transitioner</cmd></daemon></daemons>\n");
    std::ofstream(file) << config;
    RunOptions options = project_.run_options();
    options.cwd = project_.folder();
    ASSERT_EQ(run({"bin/start"}, options).status, 0);
    const RunResult refused = upgrade();
    EXPECT_EQ(run({"bin/stop"}, options).status, 0);
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.err, HasSubstr("transitioner run; call bin/stop first"));
    EXPECT_EQ(version(), 1);
    EXPECT_TRUE(eventually([&] { return upgrade().status == 0; }));
    EXPECT_EQ(version(), 2);
}

TEST_F(TablesUpgradeTest, TheFirstTableComesWithTheVersion) {
    EXPECT_THAT(upgrade().out, HasSubstr("There are no tables sluice_* yet"));
    EXPECT_FALSE(tables_version(project_.db()).any);
    make_share_store(project_.db())->prepare();
    EXPECT_TRUE(tables_version(project_.db()).any);
    EXPECT_EQ(number_of(project_.db(), Sql("SELECT value FROM sluice_marks WHERE name='tables version'")), 2);
}

/// Of a feeder that was killed. A scheduler of ours says that it can't use it, and the next feeder makes it anew.
TEST_F(TablesUpgradeTest, OlderLayoutOfArrayIsMadeAnew) {
    load_release();
    ASSERT_EQ(upgrade().status, 0);
    Subprocess& feeder = project_.start_feeder();
    feeder.send_signal(SIGKILL);
    ASSERT_TRUE(feeder.wait());
    const JobArrayName name = job_array_name(0x10000000u + static_cast<unsigned>(::getpid()), project_.folder());
    const fs::path old = content_file(name);
    ASSERT_FALSE(old.empty());
    {
        std::fstream array(old, std::ios::in | std::ios::out | std::ios::binary);
        array.seekp(8);
        array.put(5);  // the layout's version
    }
    const std::string reply = ask();
    EXPECT_THAT(reply, HasSubstr("</scheduler_reply>"));
    EXPECT_THAT(reply, testing::Not(HasSubstr("<result>")));
    EXPECT_THAT(project_.scheduler_log(), HasSubstr("feeder and scheduler are of different versions"));
    project_.start_feeder();
    EXPECT_NE(content_file(name), old);
    EXPECT_THAT(ask(), HasSubstr("<result>"));
}

}  // namespace
}  // namespace sluice::test
