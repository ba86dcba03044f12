// SPDX-License-Identifier: LGPL-3.0-or-later
// The plans of all statements that the daemons send: none reads a whole table whose size grows with history, nor (a
// "range" may be anything from a row to all of them) is the server in for a good part of one.
#include <limits>
#include <set>
#include <sstream>
#include <utility>

#include "sluice/db/account_store.h"
#include "sluice/db/batch_plan_store.h"
#include "sluice/db/batch_store.h"
#include "sluice/db/share_store.h"
#include "tests/db/batch/batch_fixture.h"
#include "tests/support/project_rows.h"
#include "tests/support/segment_files.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using Command = std::vector<std::string>;

/// Every statement that the programs sent, from the server's general log.
class Statements : public BatchFixture {
  protected:
    ~Statements() override { remove_segment_files(job_array_name(1, std::filesystem::canonical(project.path()))); }
    /// `SET GLOBAL ... = on` around a run; what its log tables hold then are the statements of that program.
    void log_statements(bool on) {
        ASSERT_TRUE(others_are_gone());
        db.execute(Sql("SET GLOBAL log_output='TABLE'"));
        db.execute(Sql("SET GLOBAL long_query_time=0"));
        if (on) {
            db.execute(Sql("TRUNCATE TABLE mysql.general_log"));
            db.execute(Sql("TRUNCATE TABLE mysql.slow_log"));
        }
        Sql general("SET GLOBAL general_log="), slow("SET GLOBAL slow_query_log=");
        db.execute(general << int{on});
        db.execute(slow << int{on});
    }
    std::vector<std::string> of_run(const Command& args) {
        log_statements(true);
        run_ok(args);
        log_statements(false);
        return logged();
    }
    std::vector<std::string> logged() {
        std::vector<std::string> statements;
        for (const auto& row :
             rows(Sql("SELECT argument FROM mysql.general_log WHERE command_type='Query' AND (argument LIKE 'SELECT%' "
                      "OR argument LIKE 'UPDATE%' OR argument LIKE 'DELETE%' OR argument LIKE 'INSERT%SELECT%') "
                      "AND argument NOT LIKE '%general_log%'"),
                  1))
            statements.push_back(row[0]);
        return statements;
    }
    struct Access {
        std::string table, type;
        double rows = 0;  ///< that the server expects to read
    };
    /// What the server would read of the tables that grow with history, statement by statement.
    std::map<std::string, std::vector<Access>> accesses(const std::set<std::string>& statements) {
        // One client for all: starting one costs more than what it asks.
        std::string text;
        for (const std::string& statement : statements) text += "SELECT '@';\nEXPLAIN " + statement + ";\n";
        std::vector<std::string> client = PrivateMariaDb::shared().client_command();
        client.insert(client.end(), {"-N", "--force", "batches"});  // some name tables that this project does not need
        const RunResult r = run(client, {.stdin_text = text});
        std::map<std::string, std::vector<Access>> found;
        auto statement = statements.begin();
        bool first = true;
        std::istringstream lines(r.out);
        for (std::string line; std::getline(lines, line);) {
            if (line == "@") {
                if (!std::exchange(first, false)) ++statement;
                continue;
            }
            std::vector<std::string> fields;
            std::istringstream parts(line);
            for (std::string field; std::getline(parts, field, '\t');) fields.push_back(field);
            if (fields.size() < 9) continue;
            std::vector<Access>& of_statement = found[*statement];  // also of one that reads no table
            if (fields[2] != "NULL") note_access(fields, *statement, of_statement);
        }
        EXPECT_EQ(std::distance(statements.begin(), statement) + 1, static_cast<std::ptrdiff_t>(statements.size()))
            << r.err;
        for (const std::string& one : statements)
            if (one.find("sluice_") == std::string::npos) {
                EXPECT_TRUE(found.contains(one)) << "no plan: " << one << r.err;
            }
        return found;
    }
    void note_access(const std::vector<std::string>& fields, const std::string& statement, std::vector<Access>& found) {
        static const std::map<std::string, std::string> kAliases{{"r", "result"},
                                                                 {"w", "workunit"},
                                                                 {"h", "host"},
                                                                 {"hav", "host_app_version"},
                                                                 {"av", "app_version"},
                                                                 {"a", "app"},
                                                                 {"b", "batch"},
                                                                 {"g", "sluice_gang"},
                                                                 {"j", "sluice_gang_job"},
                                                                 {"k", "sluice_gang_host"},
                                                                 {"l", "sluice_gang_lease"},
                                                                 {"v", "app_version"},
                                                                 {"m", "sluice_share_measured"},
                                                                 {"s", "sluice_share_batch"},
                                                                 {"t", "sluice_share_stream"},
                                                                 {"u", "user_submit"}};
        static const std::set<std::string> kGrow{"result", "workunit", "host", "host_app_version"};
        ++tables_seen_;
        const auto alias = kAliases.find(fields[2]);
        const std::string table = alias == kAliases.end() ? fields[2] : alias->second;
        // An unknown short name would be passed over silently.
        EXPECT_GT(table.size(), 2u) << table << " is in no list of aliases: " << statement;
        found.push_back({table, fields[3], fields[8] == "NULL" ? 0 : std::stod(fields[8])});
        // It has no index on state: the passes over all batches read it, what comes every few seconds may not.
        const bool often = table == "batch" && statement.find("u.quota>0") != std::string::npos;
        if (!kGrow.contains(table) && !often) found.back() = {};
    }
    void check_plans_of(const std::string& program, const std::vector<std::string>& statements, double most_rows) {
        std::set<std::string> different;
        for (const std::string& statement : statements)
            // The first feeder of a project makes this table, with a row for each host; no later one reads the hosts
            // for it.
            if (!statement.starts_with("INSERT IGNORE INTO sluice_host_rpc ")) different.insert(statement);
        for (const auto& [statement, all] : accesses(different))
            for (const Access& a : all) {
                EXPECT_NE(a.type, "ALL") << program << " reads all of " << a.table << ": " << statement;
                // A scan of a whole index is one of the whole history, too.
                EXPECT_NE(a.type, "index") << program << " reads an index of " << a.table << ": " << statement;
                EXPECT_LE(a.rows, most_rows)
                    << program << " expects so many rows of " << a.table << " (" << a.type << "): " << statement;
            }
    }
    void check_plans(const Command& program) {
        tables_seen_ = 0;
        // Where there is little history, a plan is judged by its kind; check_rows() judges by numbers, too.
        check_plans_of(program[0], of_run(program), std::numeric_limits<double>::max());
        EXPECT_GT(tables_seen_, 0) << program[0];
    }
    std::int64_t reads_of_the_server() {
        std::int64_t sum = 0;
        for (const auto& row : rows(Sql("SHOW GLOBAL STATUS WHERE variable_name LIKE 'Handler_read%' OR "
                                        "variable_name='Handler_icp_attempts'"),
                                    2))
            sum += std::stoll(row[1]);
        return sum;
    }
    /// No statement of the program looks at more than `most` rows or would by its plan look at ten times as many (what
    /// the server guesses of a range is as rough as that), nor do all of them together look at many more.
    void check_rows(const Command& program, std::int64_t most = 3000) {
        const std::int64_t before = reads_of_the_server();
        log_statements(true);
        run_ok(program);
        log_statements(false);
        const std::int64_t reads = reads_of_the_server() - before;
        const auto examined = rows(Sql("SELECT rows_examined, sql_text FROM mysql.slow_log"), 2);
        EXPECT_GT(examined.size(), 2u) << program[0];
        for (const auto& row : examined)
            EXPECT_LE(std::stoll(row[0]), most) << program[0] << " looks at so many rows: " << row[1];
        EXPECT_LE(reads, 10 * most) << program[0] << ", all statements together";
        check_plans_of(program[0], logged(), 10 * static_cast<double>(most));
    }
    /// Their owners have quotas, and one of them is a stream of single jobs.
    void give_quotas() {
        db.execute(
            Sql("INSERT INTO user_submit (user_id, quota, logical_start_time, submit_all, manage_all, "
                "max_jobs_in_progress) SELECT DISTINCT user_id,1,0,1,0,0 FROM batch"));
        db.execute(Sql("UPDATE batch SET state=0 WHERE id=10"));
    }
    /// One that waits for hosts, some of which are on.
    void make_a_gang() {
        const auto gangs = make_gang_store(db);
        gangs->prepare();
        std::vector<GangJob> jobs;
        for (const auto& row : rows(Sql("SELECT w.name FROM workunit w JOIN result r ON r.workunitid=w.id WHERE "
                                        "w.batch=1 AND r.server_state=2"),
                                    1))
            jobs.push_back({{1, 0}, static_cast<int>(jobs.size()), row[0]});
        ASSERT_EQ(jobs.size(), 3u);
        gangs->define(jobs, 3);
        db.execute(Sql("UPDATE result SET server_state=5, outcome=3 WHERE batch=1 AND server_state=2"));
        prepare_host_attempts(db);
        db.execute(Sql("UPDATE host SET rpc_time=UNIX_TIMESTAMP(), on_frac=1, active_frac=1 WHERE id<1020"));
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
    int tables_seen_ = 0;
};

TEST_F(Statements, NoGrowingTableIsReadWhole) {
    config("", 1);
    app(1, 1);
    for (Id b = 1; b <= 20; ++b) {
        batch(b);
        for (int i = 0; i < 60; ++i) success(b, 1 + i, i % 3 == 0 ? 500 : 1000);
        for (int i = 0; i < 3; ++i) unsent(b), in_progress(b, 1 + i, 5000);
    }
    for (Id id = 1000; id < 3000; ++id) host(id);
    store();
    give_quotas();
    add_history();
    make_a_gang();
    const Command stats{"batch_stats", "--incremental_above", "0", "--min_hosts", "10"};
    run_ok(stats);
    for (const Command& program : {stats,
                                   Command{"batch_accel", "--no_stats"},
                                   {"batch_upkeep", "--one_pass"},
                                   {"batch_shares", "--one_pass"},
                                   {"batch_planner", "--one_pass"},
                                   {"gang_planner", "--one_pass"}})
        check_plans(program);
    log_statements(true);
    make_share_store(db)->without_place();  // what batch_shares looks for between its passes
    log_statements(false);
    check_plans_of("without_place()", logged(), 20);
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

TEST_F(Statements, FewRowsAreLookedAtHoweverLongHistory) {
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
    for (auto& [id, r] : world.results) r.xml_doc_in = "<result>\n</result>\n";
    store();
    give_quotas();
    add_history(300);
    ASSERT_GT(number(Sql("SELECT COUNT(*) FROM workunit")), 100000);
    ASSERT_GT(
        number(Sql("SELECT COUNT(*) FROM workunit w JOIN result r ON r.workunitid=w.id WHERE r.server_state=2 AND "
                   "w.error_mask<>0")),
        0);
    for (const char* order : {"--priority_order", "--priority_asc", "--priority_order_create_time", "--random_order",
                              "--random_order_db", "--by_batch", "--batch_accel"})
        check_rows({"feeder", "--one_pass", order, "--starvation_after", "1"});
    check_rows({"feeder", "--one_pass", "--allapps"});
    check_rows({"feeder", "--one_pass", "--allapps", "--mod", "2", "1"});
    check_rows({"feeder", "--one_pass", "--appids", "1,2", "--wmod", "2", "1"});
    for (const char* order :
         {"--dry_run", "--random_order", "--priority_asc", "--priority_order", "--priority_order_create_time"})
        check_rows({"size_regulator", "--app_name", "app2", "--lo", "8", "--hi", "9", "--one_pass", order});
    check_rows({"transitioner", "--one_pass", "--mod", "2", "1"});
    check_rows({"transitioner", "--one_pass"});
    const Command stats{"batch_stats", "--incremental_above", "0", "--min_hosts", "10"};
    run_ok(stats);
    for (const Command& program : {stats,
                                   Command{"batch_accel", "--no_stats"},
                                   {"batch_upkeep", "--one_pass"},
                                   {"batch_shares", "--one_pass"},
                                   {"batch_planner", "--one_pass"}})
        check_rows(program);
    check_rows({"sample_bitwise_validator", "--app", "app1", "--one_pass"});
    project.write("bin/collect", "#!/bin/sh\n");
    std::filesystem::permissions(project.path() / "bin/collect", std::filesystem::perms::owner_all);
    check_rows({"script_assimilator", "--app", "app1", "--one_pass", "--script", "collect wu_name"});
}

TEST_F(Statements, AnIncrementalPassFindsTheSame) {
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

// On a cluster a statement that makes a table stops all nodes, and a node that dies within it needs a copy of
// everything: none is sent where the tables are.
TEST_F(Statements, OnceTablesAreThereNoStatementMakesOne) {
    config("<share_rule>settled</share_rule><plan_batches>1</plan_batches>", 1);
    app(1);
    world.users[1] = a_user(1, "alice", "key");
    store();
    db.execute(Sql(
        "INSERT INTO user_submit (user_id, quota, logical_start_time, submit_all, manage_all, max_jobs_in_progress) "
        "VALUES (1,1,0,1,0,0)"));
    project.write("jobs", "--command_line a\n");
    project.write("templates/app1_in", "<workunit></workunit>");
    project.write("templates/app1_out", "<result>\n</result>");
    int batch = 0;
    const auto run_all = [&] {
        for (const Command& daemon : std::vector<Command>{{"batch_shares", "--one_pass"},
                                                          {"batch_upkeep", "--one_pass"},
                                                          {"batch_planner", "--one_pass"},
                                                          {"batch_accel"},
                                                          {"batch_stats"},
                                                          {"gang_planner", "--one_pass"}})
            run_ok(daemon);
        make_batch_accel_store(db)->prepare();  // what batch_accel does before it accelerates
        run_ok({"sluice_batch", "create", "--user", "1", "--app", "app1"});
        run_ok({"sluice_batch", "submit", std::to_string(++batch), (project.path() / "jobs").string()});
    };
    const auto made = [&] {
        return number(
            Sql("SELECT SUM(variable_value) FROM information_schema.global_status WHERE variable_name IN "
                "('COM_CREATE_TABLE','COM_ALTER_TABLE','COM_DROP_TABLE')"));
    };
    const auto before = made();
    run_all();
    const auto first = made();
    EXPECT_GT(first, before);
    run_all();
    EXPECT_EQ(made(), first);
}

}  // namespace
}  // namespace sluice::test
