// What happens to the batch programs in operation: two at once, killed at any statement, the server restarted under them,
// readers beside them, statements that must not read whole tables.
#include <atomic>
#include <set>
#include <thread>

#include "batch_fixture.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

/// A row lock that a program runs into: the program stands still at the statement that wants the row.
struct Obstacle {
    const char* what;
    std::vector<std::string> program;
    SqlLiteral lock;       ///< … FOR UPDATE
    SqlLiteral statement;  ///< LIKE pattern of the statement that waits then
};
void PrintTo(const Obstacle& o, std::ostream* out) { *out << o.what; }

const Obstacle kObstacles[] = {
    {"StatsMedians", {"batch_stats"}, "SELECT id FROM batch WHERE id=1 FOR UPDATE", "UPDATE batch SET expire_time%"},
    {"StatsHosts", {"batch_stats"}, "SELECT id FROM host WHERE id=3 FOR UPDATE", "UPDATE host SET error_rate%"},
    {"StatsApps", {"batch_stats"}, "SELECT id FROM app WHERE id=1 FOR UPDATE", "UPDATE app SET n_size_classes%"},
    {"Upkeep", {"batch_upkeep", "--one_pass"}, "SELECT id FROM batch WHERE id=2 FOR UPDATE", "UPDATE batch SET njobs%"},
    {"AccelUpkeep", {"batch_accel", "--no_stats"}, "SELECT id FROM batch WHERE id=2 FOR UPDATE", "UPDATE batch SET njobs%"},
    {"AccelWorkunits", {"batch_accel", "--no_stats"}, "SELECT id FROM workunit WHERE batch=2 AND canonical_resultid=0 FOR UPDATE",
     "INSERT INTO sluice_accel_job%"},
    {"AccelResults", {"batch_accel", "--no_stats"}, "SELECT id FROM result WHERE server_state=2 FOR UPDATE",
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
        store();
    }
    Table state_of_all() {
        Table all;
        for (const SqlLiteral part :
             {SqlLiteral("SELECT 'host', id, error_rate, '', '', '' FROM host WHERE error_rate<>0 ORDER BY id"),
              SqlLiteral("SELECT 'app', id, n_size_classes, '', '', '' FROM app ORDER BY id"),
              SqlLiteral("SELECT 'batch', id, expire_time, njobs, fraction_done, state FROM batch ORDER BY id"),
              SqlLiteral("SELECT 'wu', id, priority, target_nresults, transition_time<2147483647, max_total_results FROM workunit "
                         "WHERE canonical_resultid=0 ORDER BY id"),
              SqlLiteral("SELECT 'result', id, priority, server_state, '', '' FROM result WHERE server_state<5 ORDER BY id")})
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
    bool waits(Database& watcher, const Obstacle& o) {
        return eventually([&] {
            Sql sql("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '");
            return number_of(watcher, sql << o.statement << "'") > 0;
        });
    }
};

TEST_P(Operation, KilledAtAnyStatementItLeavesNothingHalfDone) {
    fill();
    const Table expected = undisturbed(), before = state_of_all();
    const Obstacle& o = GetParam();
    Database other(PrivateMariaDb::shared().settings("batches"));
    other.transaction([&] {
        other.query(Sql(o.lock));
        Subprocess program = start_program(o.program);
        ASSERT_TRUE(waits(db, o)) << program.err();
        // The transactions before it may have been committed; its own is not.
        program.send_signal(SIGKILL);
        program.wait();
    });
    other.disconnect();
    ASSERT_TRUE(eventually([&] {
        return number(Sql("SELECT COUNT(*) FROM information_schema.processlist WHERE db='batches' AND id<>CONNECTION_ID()")) == 0;
    }));
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
            ASSERT_TRUE(waits(db, o)) << program->err();
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
    fill();
    const Table expected = undisturbed();
    const Obstacle& o = GetParam();
    Database other(PrivateMariaDb::shared().settings("batches"));
    std::optional<Subprocess> first;
    other.transaction([&] {
        other.query(Sql(o.lock));
        first.emplace(start_program(o.program));
        ASSERT_TRUE(waits(db, o)) << first->err();
        const RunResult second = run_program(o.program);
        EXPECT_EQ(second.status, 1);
        EXPECT_THAT(second.err, HasSubstr("Another " + o.program[0] + " is running for this project (process " +
                                          std::to_string(first->pid()) + ")"));
    });
    EXPECT_EQ(first->wait()->status, 0);
    EXPECT_EQ(state_of_all(), expected);
}
INSTANTIATE_TEST_SUITE_P(At, Operation, testing::ValuesIn(kObstacles), [](const auto& tested) { return std::string(tested.param.what); });

using Stats = BatchFixture;

TEST_F(Stats, ThereIsNoMomentInWhichNoHostIsLtt) {
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

/// Every statement that the programs sent, from the server's general log.
class Statements : public BatchFixture {
  protected:
    std::vector<std::string> of_run(const std::vector<std::string>& args) {
        db.execute(Sql("SET GLOBAL log_output='TABLE'"));
        db.execute(Sql("TRUNCATE TABLE mysql.general_log"));
        db.execute(Sql("SET GLOBAL general_log=1"));
        run_ok(args);
        db.execute(Sql("SET GLOBAL general_log=0"));
        std::vector<std::string> statements;
        for (const auto& row : rows(Sql("SELECT argument FROM mysql.general_log WHERE command_type='Query' AND argument LIKE 'SELECT%' "
                                        "AND argument NOT LIKE '%general_log%'"), 1))
            statements.push_back(row[0]);
        return statements;
    }
    /// "table:type" for each table that a statement reads, e.g. "result:range".
    std::set<std::string> access(const std::string& statement) {
        const RunResult r = run({"mariadb", "--no-defaults", "-uroot", "-N", "-S", PrivateMariaDb::shared().socket().string(), "batches",
                                 "-e", "EXPLAIN " + statement});
        // A table of our own that this project does not need.
        if (statement.find("FROM sluice_marks") == std::string::npos) {
            EXPECT_EQ(r.status, 0) << r.err;
        }
        std::set<std::string> found;
        std::istringstream lines(r.out);
        for (std::string line; std::getline(lines, line);) {
            std::istringstream fields(line);
            std::string id, select_type, table, type;
            fields >> id >> select_type >> table >> type;
            if (table != "NULL") found.insert(table + ":" + type);
        }
        return found;
    }
};

TEST_F(Statements, NoWholeTableThatGrowsWithHistoryIsRead) {
    config("", 1);
    app(1, 1);
    for (Id b = 1; b <= 20; ++b) {
        batch(b);
        for (int i = 0; i < 60; ++i) success(b, 1 + i, i % 3 == 0 ? 500 : 1000);
        for (int i = 0; i < 3; ++i) unsent(b), in_progress(b, 1 + i, 5000);
    }
    for (Id id = 1000; id < 3000; ++id) host(id);
    store();
    // History: results and workunits of batches that are gone, ten times as many.
    db.execute(Sql("INSERT INTO workunit SELECT w.id+s.seq*100000, w.create_time, w.appid, CONCAT(w.name,'_',s.seq), w.xml_doc, "
                   "w.batch+1000000, w.rsc_fpops_est, w.rsc_fpops_bound, w.rsc_memory_bound, w.rsc_disk_bound, 0, 1, 0, 2147483647, "
                   "w.delay_bound, 0, 0, 2, 0, 0, 1,1,1,1,1, '', 0, NULL, 0, 0, 0, 0, -1, '', 0 FROM workunit w, seq_1_to_10 s"));
    db.execute(Sql("INSERT INTO result SELECT r.id+s.seq*100000, r.create_time, r.workunitid+s.seq*100000, 5, 1, 5, r.hostid, 1, 0, "
                   "r.sent_time, r.received_time, CONCAT(r.name,'_',s.seq), 0, '', '', '', r.batch+1000000, 0,1,0,0,0,0,1, r.appid, 0,0,0, "
                   "NULL, 0,0,7,0,-1,0,0,0 FROM result r, seq_1_to_10 s"));
    db.query(Sql("ANALYZE TABLE result, workunit, host, batch"));
    run_ok({"batch_stats", "--incremental_above", "0", "--min_hosts", "10"});
    for (const auto& args : {std::vector<std::string>{"batch_stats", "--incremental_above", "0", "--min_hosts", "10"}, {"batch_accel", "--no_stats"},
                             {"batch_upkeep", "--one_pass"}}) {
        int looked_at = 0;
        for (const std::string& statement : of_run(args))
            for (const std::string& how : access(statement)) {
                ++looked_at;
                for (const char* table : {"result", "workunit", "host"}) {
                    EXPECT_NE(how, std::string(table) + ":ALL") << statement;
                    // A scan of a whole index is one of the whole history, too.
                    EXPECT_NE(how, std::string(table) + ":index") << statement;
                }
            }
        EXPECT_GT(looked_at, 0) << args[0];
    }
}

TEST_F(Statements, AnIncrementalPassReadsFewRowsAndComesToTheSame) {
    config("", 1);
    for (Id b = 1; b <= 20; ++b) {
        batch(b);
        for (int i = 0; i < 100; ++i) success(b, 1 + i, 1000 + i, 5 * 86400);
        for (int i = 0; i < 5; ++i) unsent(b);
    }
    store();
    db.execute(Sql("UPDATE result SET id=id+100000"));
    // Ids of other jobs above them, so that the measured ones are not read for being new.
    db.execute(Sql("INSERT INTO result SELECT id+100000, create_time, 0, 5, 1, 5, 0,0,0,0,0, CONCAT(name,'x'), 0,'','','',0,0,1,0,0,0,0,1,9,0,0,0,"
                   "NULL,0,0,0,0,-1,0,0,0 FROM result"));
    EXPECT_THAT(run_ok({"batch_stats"}), HasSubstr("full pass: 20 batches"));
    // Five more jobs of host 1 come back late, as timed out; a batch appears; one is retired.
    db.execute(Sql("UPDATE result SET server_state=5, outcome=4, hostid=1, sent_time=1000, report_deadline=") << now - 10
               << Sql(" WHERE batch=3 AND server_state=2"));
    db.execute(Sql("UPDATE batch SET state=4 WHERE id=7"));
    const std::string log = run_ok({"batch_stats", "--incremental_above", "0"});
    EXPECT_THAT(log, HasSubstr("incremental pass: 19 batches (19 measured), 1995 results"));
    EXPECT_THAT(log, testing::ContainsRegex("\\(21[0-9][0-9] rows read"));  // 2100 of the id overlap, 5 that changed, samples
    const auto state = [&] { return rows(Sql("SELECT id, error_rate FROM host ORDER BY id"), 2); };
    const auto versions = [&] { return rows(Sql("SELECT host_id, ltt, jobs FROM sluice_host_ltt ORDER BY 1"), 3); };
    const Table flags = state(), details = versions();
    EXPECT_EQ(flags[0], (std::vector<std::string>{"1", "0"}));
    EXPECT_THAT(run_ok({"batch_stats", "--full"}), HasSubstr("(+0 -0), 0 medians, 0 app flags and 0 version rows"));
    EXPECT_EQ(state(), flags);
    EXPECT_EQ(versions(), details);
}

}  // namespace
}  // namespace sluice::test
