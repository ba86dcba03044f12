// SPDX-License-Identifier: LGPL-3.0-or-later
// What happens to the batch programs and size_regulator in operation: two at once, killed at any statement, the server
// restarted under them, readers beside them.
#include <atomic>
#include <set>
#include <thread>

#include "tests/db/batch/batch_fixture.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

/// A row lock that a program runs into: the program stands still at the statement that wants the row.
struct Obstacle {
    const char* what;
    std::vector<std::string> program;
    SqlLiteral lock;       ///< … FOR UPDATE
    SqlLiteral statement;  ///< LIKE pattern of the statement that waits then
    bool alone = true;     ///< a second copy is refused
};
void PrintTo(const Obstacle& o, std::ostream* out) { *out << o.what; }

const std::vector<std::string> kRegulator{"size_regulator", "--app_name", "app3",      "--lo", "3",
                                          "--hi",           "5",          "--one_pass"};
const Obstacle kObstacles[] = {
    {"RegulatorTurn", kRegulator, "SELECT value FROM sluice_marks WHERE name='size_regulator 3' FOR UPDATE",
     "INSERT INTO sluice_marks%", false},
    {"RegulatorResults", kRegulator, "SELECT id FROM result WHERE appid=3 FOR UPDATE",
     "UPDATE result %SET server_state=2%", false},
    {"StatsMedians", {"batch_stats"}, "SELECT id FROM batch WHERE id=1 FOR UPDATE", "UPDATE batch SET expire_time%"},
    {"StatsHosts", {"batch_stats"}, "SELECT id FROM host WHERE id=3 FOR UPDATE", "UPDATE host SET error_rate%"},
    {"StatsApps", {"batch_stats"}, "SELECT id FROM app WHERE id=1 FOR UPDATE", "UPDATE app SET n_size_classes%"},
    {"Upkeep", {"batch_upkeep", "--one_pass"}, "SELECT id FROM batch WHERE id=2 FOR UPDATE", "UPDATE batch SET njobs%"},
    {"AccelUpkeep",
     {"batch_accel", "--no_stats"},
     "SELECT id FROM batch WHERE id=2 FOR UPDATE",
     "UPDATE batch SET njobs%"},
    {"AccelWorkunits",
     {"batch_accel", "--no_stats"},
     "SELECT id FROM workunit WHERE batch=2 AND canonical_resultid=0 FOR UPDATE",
     "INSERT INTO sluice_accel_job%"},
    {"AccelResults",
     {"batch_accel", "--no_stats"},
     "SELECT id FROM result WHERE server_state=2 FOR UPDATE",
     "INSERT INTO sluice_accel_result%"},
};

/// Batch 1 is measured (app 1: 120 hosts); batch 2, of an accelerable app, is almost done.
class Operation : public BatchFixture, public testing::WithParamInterface<Obstacle> {
  protected:
    Operation() {
        config("", 1);
        db.execute(Sql("SET GLOBAL innodb_flush_log_at_trx_commit=1"));  // commits survive the server's death
    }
    void fill() {
        app(2, 1);
        measured_batch(1, 1, 120);
        for (int i = 1; i <= 120; ++i) success(1, i, i % 2 == 0 ? 1000 : 500), success(1, i, i % 2 == 0 ? 1000 : 500);
        batch(2, 2);
        for (int i = 0; i < 195; ++i) success(2, 1 + i, 1000);
        unsent(2), unsent(2);
        in_progress(2, 300, 50000);
        host(5).error_rate = 0.5;
        app(3, 2);
        for (int i = 0; i < 12; ++i) {
            Result& r = instance(job(0), ServerState::kInactive);
            r.appid = 3, r.size_class = i % 2;
        }
        store();
    }
    Table state_of_all() {
        Table all;
        for (
            const SqlLiteral part :
            {SqlLiteral("SELECT 'host', id, error_rate, '', '', '' FROM host WHERE error_rate<>0 ORDER BY id"),
             SqlLiteral("SELECT 'app', id, n_size_classes, '', '', '' FROM app ORDER BY id"),
             SqlLiteral("SELECT 'batch', id, expire_time, njobs, fraction_done, state FROM batch ORDER BY id"),
             SqlLiteral(
                 "SELECT 'wu', id, priority, target_nresults, transition_time<2147483647, max_total_results FROM workunit "
                 "WHERE canonical_resultid=0 ORDER BY id"),
             SqlLiteral(
                 "SELECT 'result', id, priority, server_state, '', '' FROM result WHERE server_state<5 ORDER BY id")})
            for (auto& row : rows(Sql(part), 6)) all.push_back(row);
        return all;
    }
    /// What a run that nothing disturbs makes of it.
    Table undisturbed() {
        const std::vector<std::string> args = GetParam().program;
        run_ok(args);
        const Table result = state_of_all();
        truncate_all_tables(db);
        std::filesystem::remove(project / "batch_stats.state");
        store();
        return result;
    }
    /// The list may show a statement for a moment after its end: that of `holder`, who has the lock, is not meant.
    bool waits(Database& watcher, Database& holder, const Obstacle& o) {
        const auto held_by = number_of(holder, Sql("SELECT CONNECTION_ID()"));
        return eventually([&] {
            Sql sql("SELECT COUNT(*) FROM information_schema.processlist WHERE id<>");
            return number_of(watcher, sql << held_by << " AND info LIKE '" << o.statement << "'") > 0;
        });
    }
};

TEST_P(Operation, KillAtAnyStatementLeavesNothingHalfDone) {
    fill();
    const Table expected = undisturbed(), before = state_of_all();
    const Obstacle& o = GetParam();
    Database other(PrivateMariaDb::shared().settings("batches"));
    other.transaction([&] {
        other.query(Sql(o.lock));
        Subprocess program = start_program(o.program);
        ASSERT_TRUE(waits(db, other, o)) << program.err();
        // The transactions before it may have been committed; its own is not.
        program.send_signal(SIGKILL);
        program.wait();
    });
    other.disconnect();
    ASSERT_TRUE(others_are_gone());
    const Table after = state_of_all();
    for (const auto& row : after)
        EXPECT_TRUE(std::find(before.begin(), before.end(), row) != before.end() ||
                    std::find(expected.begin(), expected.end(), row) != expected.end())
            << testing::PrintToString(row) << " is neither the old nor the new one";
    run_ok(o.program);
    EXPECT_EQ(state_of_all(), expected);
}

TEST_P(Operation, TheServerIsRestartedUnderIt) {
    fill();
    const Table expected = undisturbed();
    const Obstacle& o = GetParam();
    PrivateMariaDb& server = PrivateMariaDb::shared();
    Database other(server.settings("batches"));
    std::optional<Subprocess> program;
    try {
        other.transaction([&] {
            other.query(Sql(o.lock));
            program.emplace(start_program(o.program));
            ASSERT_TRUE(waits(db, other, o)) << program->err();
            db.disconnect();
            server.kill();
        });
    } catch (const DbError&) {  // our own transaction is gone with the server
    }
    ASSERT_TRUE(program->wait_for_output("trying again")) << program->err();
    server.start();
    const auto ended = program->wait();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->status, 0) << ended->err;
    EXPECT_EQ(state_of_all(), expected) << ended->err;
    // One line when it went, one when it was back.
    EXPECT_THAT(ended->err, HasSubstr("The database answers again"));
}

TEST_P(Operation, ASecondCopyGivesWay) {
    if (!GetParam().alone) return;  // SizePrograms.TwoRegulatorsAtOnceNeverExceedHighMark
    fill();
    const Table expected = undisturbed();
    const Obstacle& o = GetParam();
    Database other(PrivateMariaDb::shared().settings("batches"));
    std::optional<Subprocess> first;
    other.transaction([&] {
        other.query(Sql(o.lock));
        first.emplace(start_program(o.program));
        ASSERT_TRUE(waits(db, other, o)) << first->err();
        const RunResult second = run_program(o.program);
        EXPECT_EQ(second.status, 1);
        EXPECT_THAT(second.err, HasSubstr("Another " + o.program[0] + " is running for this project (process " +
                                          std::to_string(first->pid()) + ")"));
    });
    EXPECT_EQ(first->wait()->status, 0);
    EXPECT_EQ(state_of_all(), expected);
}
INSTANTIATE_TEST_SUITE_P(At, Operation, testing::ValuesIn(kObstacles),
                         [](const auto& tested) { return std::string(tested.param.what); });

using Stats = BatchFixture;

TEST_F(Stats, AtAllTimesSomeHostIsLtt) {
    // Hosts 1 to 200 are LTT; then the jobs of hosts 201 to 400 make those LTT instead.
    batch(1);
    for (int i = 1; i <= 200; ++i) success(1, i, 100), success(1, 1000 + i, 1000), success(1, 2000 + i, 1000);
    store();
    run_ok({"batch_stats"});
    ASSERT_EQ(number(Sql("SELECT COUNT(*) FROM host WHERE error_rate=1")), 200);
    db.execute(Sql("UPDATE result SET hostid=hostid+200 WHERE hostid<=200"));
    for (Id id = 201; id <= 400; ++id) host(id);
    FakeDb more;
    for (Id id = 201; id <= 400; ++id) more.hosts[id] = world.hosts[id];
    store_rows(db, more);
    std::atomic<bool> stop = false;
    std::set<std::int64_t> seen;
    std::thread reader([&] {
        Database scheduler(PrivateMariaDb::shared().settings("batches"));
        while (!stop) seen.insert(number_of(scheduler, Sql("SELECT COUNT(*) FROM host WHERE error_rate>0")));
    });
    run_ok({"batch_stats"});
    stop = true;
    reader.join();
    EXPECT_EQ(seen, std::set<std::int64_t>{200});
    EXPECT_EQ(number(Sql("SELECT MIN(id) FROM host WHERE error_rate=1")), 201);
}

}  // namespace
}  // namespace sluice::test
