// The plans of all statements that the daemons send: none reads a whole table whose size grows with history.
#include <set>
#include <sstream>

#include "batch_fixture.h"
#include "tests/support/segment_files.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using Command = std::vector<std::string>;

/// Every statement that the programs sent, from the server's general log.
class Statements : public BatchFixture {
  protected:
    ~Statements() override { remove_segment_files(job_array_name(1, std::filesystem::canonical(project.path()))); }
    std::vector<std::string> of_run(const Command& args) {
        db.execute(Sql("SET GLOBAL log_output='TABLE'"));
        db.execute(Sql("TRUNCATE TABLE mysql.general_log"));
        db.execute(Sql("SET GLOBAL general_log=1"));
        run_ok(args);
        db.execute(Sql("SET GLOBAL general_log=0"));
        std::vector<std::string> statements;
        for (const auto& row :
             rows(Sql("SELECT argument FROM mysql.general_log WHERE command_type='Query' AND (argument LIKE 'SELECT%' "
                      "OR argument LIKE 'UPDATE%' OR argument LIKE 'DELETE%' OR argument LIKE 'INSERT%SELECT%') "
                      "AND argument NOT LIKE '%general_log%'"),
                  1))
            statements.push_back(row[0]);
        return statements;
    }
    /// "table:type" for each table that a statement reads, e.g. "result:range".
    std::set<std::string> access(const std::string& statement) {
        std::vector<std::string> client = PrivateMariaDb::shared().client_command();
        client.insert(client.end(), {"-N", "batches", "-e", "EXPLAIN " + statement});
        const RunResult r = run(client);
        // Tables of our own that this project does not need.
        if (statement.find("sluice_") == std::string::npos) {
            EXPECT_EQ(r.status, 0) << r.err << statement;
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
    void check_plans(const Command& program) {
        // The first feeder of a project makes this table, with a row for each host; no later one reads the hosts for
        // it.
        const std::string kOnceInAProject = "INSERT IGNORE INTO sluice_host_rpc ";
        static const std::map<std::string, std::string> kAliases{
            {"r", "result"}, {"w", "workunit"}, {"h", "host"}, {"hav", "host_app_version"}};
        int looked_at = 0;
        for (const std::string& statement : of_run(program)) {
            if (statement.starts_with(kOnceInAProject)) continue;
            for (std::string how : access(statement)) {
                ++looked_at;
                const std::string name = how.substr(0, how.find(':')), type = how.substr(how.find(':') + 1);
                const auto alias = kAliases.find(name);
                const std::string table = alias == kAliases.end() ? name : alias->second;
                if (table != "result" && table != "workunit" && table != "host" && table != "host_app_version")
                    continue;
                EXPECT_NE(type, "ALL") << program[0] << " reads all of " << table << ": " << statement;
                // A scan of a whole index is one of the whole history, too.
                EXPECT_NE(type, "index") << program[0] << " reads an index of " << table << ": " << statement;
            }
        }
        EXPECT_GT(looked_at, 0) << program[0];
    }
    std::int64_t reads_of_the_server() {
        std::int64_t sum = 0;
        for (const auto& row : rows(Sql("SHOW GLOBAL STATUS WHERE variable_name LIKE 'Handler_read%' OR "
                                        "variable_name='Handler_icp_attempts'"),
                                    2))
            sum += std::stoll(row[1]);
        return sum;
    }
    /// No statement of the program looks at more than `most` rows, nor do all of them together look at many more.
    void check_rows(const Command& program, std::int64_t most = 3000) {
        db.execute(Sql("SET GLOBAL log_output='TABLE'"));
        db.execute(Sql("SET GLOBAL long_query_time=0"));
        db.execute(Sql("TRUNCATE TABLE mysql.slow_log"));
        db.execute(Sql("SET GLOBAL slow_query_log=1"));
        const std::int64_t before = reads_of_the_server();
        run_ok(program);
        const std::int64_t reads = reads_of_the_server() - before;
        db.execute(Sql("SET GLOBAL slow_query_log=0"));
        const auto logged = rows(Sql("SELECT rows_examined, sql_text FROM mysql.slow_log"), 2);
        EXPECT_GT(logged.size(), 2u) << program[0];
        for (const auto& row : logged)
            EXPECT_LE(std::stoll(row[0]), most) << program[0] << " looks at so many rows: " << row[1];
        EXPECT_LE(reads, 10 * most) << program[0] << ", all statements together";
    }
    /// Results and workunits of batches that are gone, `times` times as many as there are.
    void add_history(int times = 10) {
        db.execute(
            Sql("INSERT INTO workunit SELECT w.id+s.seq*100000, w.create_time, w.appid, CONCAT(w.name,'_',s.seq), w.xml_doc, "
                "w.batch+1000000, w.rsc_fpops_est, w.rsc_fpops_bound, w.rsc_memory_bound, w.rsc_disk_bound, 0, 1, 0, 2147483647, "
                "w.delay_bound, 0, 0, 2, 0, 0, 1,1,1,1,1, '', 0, NULL, 0, 0, 0, 0, -1, '', 0 FROM workunit w, seq_1_to_1000 s WHERE s.seq<=")
            << times);
        db.execute(
            Sql("INSERT INTO result SELECT r.id+s.seq*100000, r.create_time, r.workunitid+s.seq*100000, 5, 1, 5, r.hostid, 1, 0, "
                "r.sent_time, r.received_time, CONCAT(r.name,'_',s.seq), 0, '', '', '', r.batch+1000000, 0,1,0,0,0,0,1, r.appid, "
                "0,0,0, NULL, 0,0,7,0,-1,0,0,0 FROM result r, seq_1_to_1000 s WHERE s.seq<=")
            << times);
        db.query(Sql("ANALYZE TABLE result, workunit, host, batch, host_app_version"));
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
    add_history();
    const Command stats{"batch_stats", "--incremental_above", "0", "--min_hosts", "10"};
    run_ok(stats);
    for (const Command& program : {stats, Command{"batch_accel", "--no_stats"}, {"batch_upkeep", "--one_pass"}})
        check_plans(program);
}

TEST_F(Statements, NorByFeederTransitionerAndSizeDaemons) {
    config("<dont_generate_upload_certificates>1</dont_generate_upload_certificates>");
    app(2, 3);
    AppVersion version;
    version.id = 7, version.appid = 2, version.platformid = 1, version.version_num = 100;
    world.versions[7] = version;
    version.id = 8, version.appid = 1;
    world.versions[8] = version;
    for (Id id = 1; id <= 400; ++id) {
        Host& h = host(id);
        h.on_frac = h.active_frac = 1, h.expavg_credit = id % 10 == 0 ? 100 : 0;
        // One host in ten is at work, and runs the app with size classes.
        HostAppVersion hav;
        hav.host_id = id, hav.app_version_id = id % 10 == 0 ? 7 : 8, hav.et = {10, 1e-9, 0, 0};
        world.host_app_versions[{id, hav.app_version_id}] = hav;
    }
    batch(1), batch(2);
    for (int i = 0; i < 300; ++i) success(1 + i % 2, 1 + i, 1000);
    for (int i = 0; i < 60; ++i) unsent(1 + i % 2).priority = i % 3;
    for (int i = 0; i < 60; ++i) {
        Workunit& wu = job(0);
        wu.appid = 2, wu.size_class = i % 3;
        Result& r = instance(wu, i < 20 ? ServerState::kUnsent : ServerState::kInactive);
        r.appid = 2, r.size_class = wu.size_class;
    }
    for (auto& [id, w] : world.workunits)
        w.transition_time = id % 20 == 0 && w.canonical_resultid == 0 ? now - 10 : INT32_MAX;
    store();
    add_history();
    for (const char* order : {"--priority_order", "--priority_asc", "--priority_order_create_time", "--random_order",
                              "--random_order_db", "--by_batch", "--batch_accel"}) {
        check_plans({"feeder", "--one_pass", order});
        check_plans({"feeder", "--one_pass", order, "--allapps", "--mod", "2", "1"});
        check_plans({"feeder", "--one_pass", order, "--appids", "1,2", "--wmod", "2", "1"});
    }
    for (const char* order :
         {"--dry_run", "--random_order", "--priority_asc", "--priority_order", "--priority_order_create_time"})
        check_plans({"size_regulator", "--app_name", "app2", "--lo", "8", "--hi", "9", "--one_pass", order});
    check_plans({"size_census"});
    check_plans({"transitioner", "--one_pass"});
    config("", 1);
    check_plans({"size_census"});
}

TEST_F(Statements, FewRowsAreLookedAtHoweverLongTheHistory) {
    config("<dont_generate_upload_certificates>1</dont_generate_upload_certificates>", 1);
    app(1, 1), app(2, 3);
    for (Id id = 1; id <= 300; ++id) host(id);
    for (Id b = 1; b <= 10; ++b) {
        batch(b);
        for (int i = 0; i < 20; ++i) success(b, 1 + i, i % 3 == 0 ? 500 : 1000);
        for (int i = 0; i < 6; ++i) unsent(b), in_progress(b, 1 + i, 5000);
    }
    for (int i = 0; i < 30; ++i) {
        Workunit& wu = job(0);
        wu.appid = 2, wu.size_class = i % 3;
        Result& r = instance(wu, i < 10 ? ServerState::kUnsent : ServerState::kInactive);
        r.appid = 2, r.size_class = wu.size_class;
    }
    for (auto& [id, w] : world.workunits) {
        w.transition_time = id % 20 == 0 && w.canonical_resultid == 0 ? now - 10 : INT32_MAX;
        if (id % 30 == 0) w.need_validate = true;
        if (id % 31 == 0) w.assimilate_state = AssimilateState::kReady;
        if (id % 37 == 0) w.error_mask = 16;
    }
    store();
    add_history(300);
    ASSERT_GT(number(Sql("SELECT COUNT(*) FROM workunit")), 100000);
    ASSERT_GT(
        number(Sql("SELECT COUNT(*) FROM workunit w JOIN result r ON r.workunitid=w.id WHERE r.server_state=2 AND "
                   "w.error_mask<>0")),
        0);
    for (const char* order : {"--priority_order", "--priority_asc", "--random_order_db", "--by_batch", "--batch_accel"})
        check_rows({"feeder", "--one_pass", order, "--starvation_after", "1"});
    check_rows({"feeder", "--one_pass", "--allapps"});
    check_rows({"size_regulator", "--app_name", "app2", "--lo", "8", "--hi", "9", "--one_pass", "--priority_order"});
    check_rows({"transitioner", "--one_pass"});
    const Command stats{"batch_stats", "--incremental_above", "0", "--min_hosts", "10"};
    run_ok(stats);
    for (const Command& program : {stats, Command{"batch_accel", "--no_stats"}, {"batch_upkeep", "--one_pass"}})
        check_rows(program);
    check_rows({"sample_bitwise_validator", "--app", "app1", "--one_pass"});
    project.write("bin/collect", "#!/bin/sh\n");
    std::filesystem::permissions(project.path() / "bin/collect", std::filesystem::perms::owner_all);
    check_rows({"script_assimilator", "--app", "app1", "--one_pass", "--script", "collect wu_name"});
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
    db.execute(Sql(
        "INSERT INTO result SELECT id+100000, create_time, 0, 5, 1, 5, 0,0,0,0,0, CONCAT(name,'x'), 0,'','','',0,0,1,0,0,0,0,1,9,0,0,0,"
        "NULL,0,0,0,0,-1,0,0,0 FROM result"));
    EXPECT_THAT(run_ok({"batch_stats"}), HasSubstr("full pass: 20 batches"));
    // Five more jobs of host 1 come back late, as timed out; a batch appears; one is retired.
    db.execute(Sql("UPDATE result SET server_state=5, outcome=4, hostid=1, sent_time=1000, report_deadline=")
               << now - 10 << Sql(" WHERE batch=3 AND server_state=2"));
    db.execute(Sql("UPDATE batch SET state=4 WHERE id=7"));
    const std::string log = run_ok({"batch_stats", "--incremental_above", "0"});
    EXPECT_THAT(log, HasSubstr("incremental pass: 19 batches (19 measured), 1995 results"));
    // 5 that changed, and samples; not those without a batch.
    EXPECT_THAT(log, testing::ContainsRegex("\\([0-9][0-9]? rows read"));
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
