// SPDX-License-Identifier: LGPL-3.0-or-later
// `batches` with a real database: it runs what config.xml enables, and leaves work to a program that does it already.
#include <chrono>
#include <optional>

#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "tests/db/batch/batch_fixture.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using BatchesProgram = BatchFixture;

TEST_F(BatchesProgram, OnlyWhatIsEnabledRuns) {
    batch(1);
    success(1, 1, 10);
    store();
    EXPECT_THAT(run_ok({"batches", "--one_pass"}),
                AllOf(HasSubstr("Running batch_upkeep\n"), HasSubstr("batch_upkeep: pass: 1 batches, 1 changed")));
    EXPECT_EQ(rows(Sql("SELECT njobs, state FROM batch WHERE id=1"), 2), (Table{{"1", "2"}}));
    config("<compat_level>1</compat_level><gang_hub>localhost:1</gang_hub>");
    EXPECT_THAT(
        run_ok({"batches", "--one_pass"}),
        HasSubstr("Running batch_upkeep, batch_watch, batch_shares, batch_planner, gang_planner, batch_accel\n"));
    EXPECT_THAT(run_ok({"batches", "--one_pass"}), HasSubstr("batch_accel: pass: "));
}

TEST_F(BatchesProgram, AProgramThatRunsKeepsItsWork) {
    batch(1);
    success(1, 1, 10);
    store();
    const auto folder = project.path() / ("pid_" + short_host_name());
    std::filesystem::create_directories(folder);
    const auto other = FileLock::try_lock(folder / "batch_upkeep.run");
    EXPECT_THAT(run_ok({"batches", "--one_pass"}),
                AllOf(HasSubstr("batch_upkeep: another program does its work"), Not(HasSubstr("batch_upkeep: pass"))));
    EXPECT_EQ(rows(Sql("SELECT njobs, state FROM batch WHERE id=1"), 2), (Table{{"0", "1"}}));
}

TEST_F(BatchesProgram, ADryRunSaysWhatEachWouldDo) {
    batch(1);
    success(1, 1, 10);
    store();
    EXPECT_THAT(run_ok({"batches", "--dry_run"}), HasSubstr("batch 1: njobs 0 -> 1"));
    EXPECT_EQ(rows(Sql("SELECT njobs, state FROM batch WHERE id=1"), 2), (Table{{"0", "1"}}));
}

// The database refuses what one of them does: the others have done theirs.
TEST_F(BatchesProgram, OneThatFailsStopsNoOther) {
    config("<plan_batches>1</plan_batches>");
    batch(1);
    success(1, 1, 10);
    unsent(1);
    store();
    db.execute(Sql("ALTER TABLE host RENAME TO host_away"));
    const RunResult r = run_program({"batches", "--one_pass"});
    db.execute(Sql("ALTER TABLE host_away RENAME TO host"));
    EXPECT_EQ(r.status, 1);
    EXPECT_THAT(r.out + r.err, AllOf(HasSubstr("batch_upkeep: pass: 1 batches"), HasSubstr("batch_planner: ")));
    EXPECT_EQ(rows(Sql("SELECT njobs FROM batch WHERE id=1"), 1), (Table{{"2"}}));
}

TEST_F(BatchesProgram, AFileOneCannotReadStopsNoOther) {
    config("<plan_batches>1</plan_batches>");
    batch(1);
    success(1, 1, 10);
    store();
    std::filesystem::create_directory(project.path() / "plan_class_spec.xml");
    const RunResult r = run_program({"batches", "--one_pass"});
    EXPECT_EQ(r.status, 1);
    EXPECT_THAT(r.out + r.err, AllOf(HasSubstr("batch_upkeep: pass: 1 batches"), HasSubstr("plan_class_spec.xml")));
    EXPECT_EQ(rows(Sql("SELECT njobs FROM batch WHERE id=1"), 1), (Table{{"1"}}));
}

TEST_F(BatchesProgram, WhatDoesNotFitOneStopsNoOther) {
    config("<plan_batches>1</plan_batches><one_result_per_user_per_wu>0</one_result_per_user_per_wu>");
    batch(1);
    success(1, 1, 10);
    store();
    const RunResult r = run_program({"batches", "--one_pass", "--copies", "0.1"});
    EXPECT_EQ(r.status, 1);
    EXPECT_THAT(r.out + r.err, AllOf(HasSubstr("batch_upkeep: pass: 1 batches"),
                                     HasSubstr("batch_planner: --copies wants <one_result_per_host_per_wu>"),
                                     HasSubstr("the other services go on")));
    EXPECT_EQ(rows(Sql("SELECT njobs FROM batch WHERE id=1"), 1), (Table{{"1"}}));
}

// batch_accel alone reads the replica.
TEST_F(BatchesProgram, DeadReplicaStopsNoOther) {
    config("<replica_db_host>127.0.0.1:1</replica_db_host><gang_hub>localhost:1</gang_hub>", 1);
    batch(1);
    success(1, 1, 10);
    store();
    const RunResult r = run_program({"batches", "--one_pass"});
    EXPECT_EQ(r.status, 1);
    EXPECT_THAT(r.err + r.out, AllOf(HasSubstr("batch_accel: can't reach the database server at 127.0.0.1:1"),
                                     HasSubstr("the other services go on")));
}

// Somebody's open transaction. One wait for its row took 10 s, in which no other service had its turn.
TEST_F(BatchesProgram, ABlockedRowHardlyDelaysTheOthers) {
    config("<gang_hub>localhost:1</gang_hub>");
    batch(1);
    success(1, 1, 10);
    store();
    db.execute(Sql("DROP TABLE IF EXISTS sluice_gang"));  // gang_planner's first turn makes it
    const Sql waits(
        "SELECT variable_value FROM information_schema.global_status WHERE variable_name='INNODB_ROW_LOCK_WAITS'");
    const std::int64_t before = number(waits);
    std::optional<Subprocess> daemon;
    db.transaction([&] {
        db.query(Sql("SELECT id FROM batch WHERE id=1 FOR UPDATE"));
        daemon.emplace(start_program({"batches"}));
        ASSERT_TRUE(eventually([&] { return number(waits) > before; }));
        const auto waits_since = std::chrono::steady_clock::now();
        ASSERT_TRUE(eventually([&] {
            return number(Sql("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema=DATABASE() AND "
                              "table_name='sluice_gang'")) > 0;
        }));
        EXPECT_LT(std::chrono::steady_clock::now() - waits_since, std::chrono::seconds(5));
    });
    EXPECT_TRUE(eventually([&] { return number(Sql("SELECT njobs FROM batch WHERE id=1")) == 1; }))
        << "the turn of the one that waited comes again";
}

// Looking for the owner of jobs without a batch is no reason to end before the database is up.
TEST_F(BatchesProgram, StartsBeforeTheDatabase) {
    project.write("config.xml",
                  "<boinc><config><db_name>x</db_name><db_host>127.0.0.1:1</db_host><shmem_key>0x1</shmem_key>"
                  "<compat_level>1</compat_level><jobs_without_batch>1</jobs_without_batch></config></boinc>");
    Subprocess daemon = start_program({"batches"});
    EXPECT_TRUE(daemon.wait_for_output("trying again until it works"));
    EXPECT_TRUE(daemon.running());
    daemon.send_signal(SIGTERM);
    EXPECT_EQ(daemon.wait().value().status, 0);
}

}  // namespace
}  // namespace sluice::test
