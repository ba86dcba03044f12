// SPDX-License-Identifier: LGPL-3.0-or-later
#include <filesystem>
#include <set>
#include "sluice/db/batch_store.h"

#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "tests/db/batch/batch_fixture.h"
#include "tests/support/notify_socket.h"

namespace sluice::test {
namespace {

using BatchUpkeep = BatchFixture;

TEST_F(BatchUpkeep, CountsAndFractionsAreUpstreams) {
    batch(1);  // 2 done, 1 failed, 1 open
    success(1, 1, 10), success(1, 1, 10);
    job(1).error_mask = 2;
    unsent(1);
    batch(2);  // all done or failed
    success(2, 1, 10);
    job(2).error_mask = 16;
    batch(3, 1, BatchState::kInit);
    success(3, 1, 10);
    batch(4).njobs = 7;  // no workunits (any more)
    world.batches[4].fraction_done = 0.5;
    batch(5, 1, BatchState::kAborted);
    success(5, 1, 10);
    store();
    run_ok({"batch_upkeep", "--one_pass"});
    EXPECT_EQ(
        rows(
            Sql("SELECT id, njobs, nerror_jobs, fraction_done, state, credit_canonical, completion_time>0 FROM batch ORDER BY id"),
            7),
        (Table{{"1", "4", "1", "0.75", "1", "4", "0"},
               {"2", "2", "1", "1", "2", "2", "1"},
               {"3", "0", "0", "0", "0", "0", "0"},
               {"4", "0", "0", "0.5", "1", "0", "0"},
               {"5", "0", "0", "0", "3", "0", "0"}}));
    run_ok({"batch_upkeep", "--batch", "5"});
    EXPECT_EQ(rows(Sql("SELECT njobs, fraction_done, state FROM batch WHERE id=5"), 3), (Table{{"1", "1", "3"}}));
}

TEST_F(BatchUpkeep, AnAbortMeanwhileWins) {
    batch(1, 1, BatchState::kAborted);
    batch(2);
    store();
    const BatchChange changes[] = {{2, BatchState::kInProgress, BatchState::kComplete, 5, 1, 1, 1000, 7},
                                   {1, BatchState::kInProgress, BatchState::kComplete, 5, 1, 1, 1000, 7}};
    EXPECT_EQ(make_batch_upkeep_store(db)->write(changes), 1);
    EXPECT_EQ(
        rows(Sql("SELECT id, state, njobs, nerror_jobs, completion_time, credit_canonical FROM batch ORDER BY id"), 6),
        (Table{{"1", "3", "0", "0", "0", "0"}, {"2", "2", "5", "1", "1000", "7"}}));
}

TEST_F(BatchUpkeep, DryRunAndUnknownBatch) {
    batch(1);
    success(1, 1, 10);
    store();
    EXPECT_THAT(run_ok({"batch_upkeep", "--dry_run"}), testing::HasSubstr("batch 1: njobs 0 -> 1"));
    EXPECT_EQ(number(Sql("SELECT state FROM batch WHERE id=1")), 1);
    EXPECT_EQ(run_program({"batch_upkeep", "--batch", "77"}).status, 1);
}

// systemd, with Type=notify and WatchdogSec.
TEST_F(BatchUpkeep, ItIsReadyAfterItsFirstGoodTurn) {
    batch(1);
    unsent(1);
    store();
    db.execute(Sql("RENAME TABLE batch TO away"));
    NotifySocket manager((project / "notify").string());
    const Variable socket("NOTIFY_SOCKET", manager.name()), patience("WATCHDOG_USEC", "60000000");
    Subprocess upkeep = start_program({"batch_upkeep", "--sleep_interval", "1"});
    ASSERT_TRUE(manager.is_told("STATUS=Turns have failed for 0 s: ")) << upkeep.err();
    ASSERT_TRUE(manager.is_told("STATUS=Turns have failed for 1 s: "));
    EXPECT_EQ(manager.place_of("READY=1"), -1);
    EXPECT_EQ(manager.place_of("WATCHDOG=1"), -1);
    db.execute(Sql("RENAME TABLE away TO batch"));
    ASSERT_TRUE(manager.is_told("READY=1\nSTATUS="));
    ASSERT_TRUE(eventually([&] { return manager.told().back().find("READY") == std::string::npos; }));
    EXPECT_GE(manager.place_of("WATCHDOG=1"), manager.place_of("READY=1"));
    upkeep.send_signal(SIGTERM);
    ASSERT_TRUE(upkeep.wait());
    EXPECT_THAT(manager.told().back(), testing::StartsWith("STOPPING=1\nSTATUS=Ends because SIGTERM"));
}

// People ask the dry run while the daemon works.
TEST_F(BatchUpkeep, DryRunsRunBesideTheirDaemons) {
    batch(1);
    success(1, 1, 10);
    store();
    const auto files = [&] {
        std::set<std::string> names;
        for (const auto& entry : fs::recursive_directory_iterator(project.path())) names.insert(entry.path().string());
        return names;
    };
    const fs::path locks = project / ("pid_" + short_host_name());
    for (const std::string program : {"batch_upkeep", "batch_planner", "gang_planner", "batch_stats", "batch_accel"}) {
        const auto alone = files();
        EXPECT_EQ(run_program({program, "--dry_run"}).status, 0) << program;
        EXPECT_EQ(files(), alone) << program;
        fs::create_directories(locks);
        const auto held = FileLock::try_lock(locks / (program + ".run"));
        ASSERT_TRUE(held);
        const RunResult beside = run_program({program, "--dry_run"});
        EXPECT_EQ(beside.status, 0) << program << ": " << beside.err;
        EXPECT_EQ(run_program({program, "--one_pass"}).status, 1) << program << " itself runs once";
        fs::remove_all(locks);
    }
    EXPECT_EQ(number(Sql("SELECT state FROM batch WHERE id=1")), 1);
}

TEST_F(BatchUpkeep, ManyBatchesTakeFewStatements) {
    for (Id id = 1; id <= 1200; ++id) {
        batch(id, 1, BatchState::kInProgress);
        success(id, 1, 10);
        if (id % 2 == 0) unsent(id);
    }
    store();
    const auto upkeep = make_batch_upkeep_store(db);
    const auto before = db.statements();
    std::vector<Id> ids;
    for (const Batch& b : upkeep->in_progress(now)) ids.push_back(b.id);
    EXPECT_EQ(ids.size(), 1200u);
    EXPECT_EQ(upkeep->progress(ids).size(), 1200u);
    EXPECT_LE(db.statements() - before, 5u);
    run_ok({"batch_upkeep", "--one_pass"});
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM batch WHERE state=2")), 600);

    // A history of 30,000 batches, over long ago, before those in progress.
    db.execute(Sql("UPDATE batch SET id=id+40000"));
    db.execute(Sql("UPDATE workunit SET batch=batch+40000"));
    db.execute(Sql(
        "INSERT INTO batch SELECT seq, user_id, create_time, 0,0,0,1,1,0,4,0,0,0,0,'old',1,0,'',0 FROM seq_1_to_30000, "
        "(SELECT user_id, create_time FROM batch LIMIT 1) b"));
    EXPECT_EQ(upkeep->in_progress(now).size(), 600u);
    db.execute(Sql("FLUSH STATUS"));
    EXPECT_EQ(upkeep->in_progress(now).size(), 600u);
    const auto reads = rows(
        Sql("SELECT SUM(variable_value) FROM information_schema.session_status WHERE variable_name LIKE 'Handler_read%'"),
        1);
    EXPECT_LT(std::stoll(reads[0][0]), 3000);
}

}  // namespace
}  // namespace sluice::test
