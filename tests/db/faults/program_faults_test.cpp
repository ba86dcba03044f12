// SPDX-License-Identifier: LGPL-3.0-or-later
// The connection to the database breaks once while a daemon or a tool works: before a statement reaches the server, or
// after the server has done it (COMMIT included) and before it has said so. In the end the database holds what it holds
// when nothing breaks: no result, job, assignment, credit, sample or penalty is missing, none is there twice.
#include <gtest/gtest.h>

#include <ctime>
#include <fstream>

#include "sluice/base/files.h"
#include "sluice/db/account_store.h"
#include "sluice/db/batch_plan_store.h"
#include "sluice/db/share_store.h"
#include "tests/support/paths.h"
#include "tests/support/project_rows.h"
#include "tests/support/sql_proxy.h"
#include "tests/support/test_project.h"

namespace sluice::test {
namespace {

using Action = SqlProxy::Action;

constexpr Id kHosts = 96;

Workunit& add_workunit(FakeDb& rows, Id appid, Id batch = 0) {
    const Id id = rows.workunits.next_key();
    Workunit w = a_workunit(id, std::time(nullptr));
    w.appid = appid;
    w.batch = batch;
    w.transition_time = kNever;
    w.result_template_file = "templates/out";
    w.max_error_results = w.max_total_results = w.max_success_results = 6;
    return rows.workunits[id] = w;
}
Result& add_result(FakeDb& rows, const Workunit& w, ServerState state, Id hostid) {
    const Id id = rows.results.next_key();
    int instance = 0;
    for (const auto& [other, r] : rows.results) instance += r.workunitid == w.id ? 1 : 0;
    Result r = a_result(id, w, instance);
    r.batch = w.batch;
    r.appid = w.appid;
    r.server_state = state;
    r.hostid = hostid;
    r.userid = hostid == 0 ? 0 : 1;
    r.app_version_id = hostid == 0 ? 0 : 1;
    r.sent_time = std::time(nullptr) - 5000;
    r.report_deadline = r.sent_time + 1000000;
    return rows.results[id] = r;
}
void succeeded(Result& r, ValidateState validated) {
    r.outcome = Outcome::kSuccess;
    r.validate_state = validated;
    r.received_time = r.sent_time + 1000;
    r.elapsed_time = r.cpu_time = 100;
    r.flops_estimate = 2e9;
}
void add_hosts(FakeDb& rows) {
    for (Id id = 1; id <= kHosts; ++id) {
        Host h;
        h.id = id;
        h.userid = 1;
        h.p_fpops = 2e9;
        rows.hosts[id] = h;
        rows.host_app_versions[{id, 1}] = {id, 1, 0, 0, {}, 100, 3, {}, 5};
    }
}

/// One workunit to be replicated, one with a result that is late, one whose result has come.
void for_the_transitioner(FakeDb& rows, const fs::path&) {
    for (int kind = 0; kind < 3; ++kind) {
        Workunit& w = add_workunit(rows, 1);
        w.transition_time = std::time(nullptr) - 10;
        w.target_nresults = 2;
        if (kind == 0) continue;
        Result& r = add_result(rows, w, kind == 1 ? ServerState::kInProgress : ServerState::kOver, kind);
        if (kind == 1)
            r.report_deadline = std::time(nullptr) - 100;
        else
            succeeded(r, ValidateState::kInit);
    }
}

void write_output(Result& r, const fs::path& project) {
    const std::string out = r.name + "_r1_0";
    r.xml_doc_in = "<file_info>\n<name>" + out + "</name>\n</file_info>\n<result>\n<file_ref><file_name>" + out +
                   "</file_name><open_name>out</open_name></file_ref>\n</result>\n";
    const fs::path path = fanout_path(project / "upload", out, 1024);
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "the same";
}

/// Two workunits of two results that agree, with credit and samples to be granted.
void for_the_validator(FakeDb& rows, const fs::path& project) {
    for (int i = 0; i < 2; ++i) {
        Workunit& w = add_workunit(rows, 1);
        w.need_validate = true;
        w.min_quorum = w.target_nresults = 2;
        for (const Id host : {1, 2}) {
            Result& r = add_result(rows, w, ServerState::kOver, host);
            succeeded(r, ValidateState::kInit);
            write_output(r, project);
        }
    }
}

void for_the_assimilator(FakeDb& rows, const fs::path& project) {
    std::ofstream(project / "bin/collect") << "#!/bin/sh\nexit 0\n";
    fs::permissions(project / "bin/collect", fs::perms::owner_all);
    for (int i = 0; i < 2; ++i) {
        Workunit& w = add_workunit(rows, 1);
        Result& r = add_result(rows, w, ServerState::kOver, 1);
        succeeded(r, ValidateState::kValid);
        write_output(r, project);
        w.canonical_resultid = r.id;
        w.assimilate_state = AssimilateState::kReady;
    }
}

void for_the_regulator(FakeDb& rows, const fs::path&) {
    for (int i = 0; i < 12; ++i) {
        Workunit& w = add_workunit(rows, 2);
        w.size_class = i % 2;
        add_result(rows, w, ServerState::kInactive, 0).size_class = i % 2;
    }
}

/// A batch that is nearly done: 95 jobs, one that waits, one that runs for too long.
void for_the_batch_programs(FakeDb& rows, const fs::path&) {
    Batch b;
    b.id = 1;
    b.user_id = 1;
    b.app_id = 3;
    b.name = "batch";
    b.state = BatchState::kInProgress;
    b.create_time = std::time(nullptr) - 86400;
    b.njobs = 3;
    rows.batches[1] = b;
    for (Id host = 1; host <= 95; ++host) {
        Workunit& w = add_workunit(rows, 3, 1);
        Result& r = add_result(rows, w, ServerState::kOver, host);
        succeeded(r, ValidateState::kValid);
        w.canonical_resultid = r.id;
        w.canonical_credit = 2;
        w.assimilate_state = AssimilateState::kDone;
    }
    add_result(rows, add_workunit(rows, 3, 1), ServerState::kUnsent, 0);
    add_result(rows, add_workunit(rows, 3, 1), ServerState::kInProgress, 96);
}

/// A batch whose jobs all fail.
void for_the_watch(FakeDb& rows, const fs::path& project) {
    for_the_batch_programs(rows, project);
    for (auto& [id, r] : rows.results) {
        if (r.server_state != ServerState::kOver) continue;
        r.outcome = Outcome::kClientError, r.exit_status = 195;
        rows.workunits[r.workunitid].canonical_resultid = 0;
    }
}

/// And hosts that can be planned with.
void for_the_planner(FakeDb& rows, const fs::path& project) {
    for_the_batch_programs(rows, project);
    for (auto& [id, h] : rows.hosts) {
        h.rpc_time = static_cast<double>(std::time(nullptr));
        h.p_ncpus = 1;
        h.on_frac = h.active_frac = 1;
        h.expavg_credit = static_cast<double>(id);
    }
}

void for_shares(FakeDb& rows, const fs::path& project) { for_the_batch_programs(rows, project); }

void for_gangs(FakeDb& rows, const fs::path& project) {
    for_the_planner(rows, project);
    for (int i = 0; i < 3; ++i) add_workunit(rows, 3, 1);
}

void for_create_work(FakeDb&, const fs::path& project) {
    std::ofstream(project / "templates/up_in") << "<workunit></workunit>";
    std::ofstream(project / "templates/up_out") << kOutputTemplate;
}

/// A new batch, and jobs for it.
void for_a_submission(FakeDb& rows, const fs::path& project) {
    for_create_work(rows, project);
    Batch b;
    b.id = 1;
    b.user_id = 1;
    b.app_id = 1;
    b.name = "batch";
    rows.batches[1] = b;
    std::ofstream(project / "jobs") << "--command_line 1\n--command_line 2 --target_host 3\n";
}

struct Scenario {
    const char* name;
    std::vector<std::string> command;
    void (*build)(FakeDb& rows, const fs::path& project);
    std::string input{};
};
std::ostream& operator<<(std::ostream& out, const Scenario& s) { return out << s.name; }

const Scenario kScenarios[] = {
    {"transitioner", {"transitioner", "--one_pass"}, for_the_transitioner},
    {"validator", {"sample_bitwise_validator", "--app", "up", "--one_pass"}, for_the_validator},
    {"assimilator",
     {"script_assimilator", "--app", "up", "--one_pass", "--script", "collect wu_name"},
     for_the_assimilator},
    {"regulator", {"size_regulator", "--app_name", "sized", "--lo", "1", "--hi", "4", "--one_pass"}, for_the_regulator},
    {"batch_stats", {"batch_stats"}, for_the_batch_programs},
    {"batch_accel", {"batch_accel"}, for_the_batch_programs},
    {"batch_upkeep", {"batch_upkeep", "--one_pass"}, for_the_batch_programs},
    {"batch_watch", {"batch_watch", "--one_pass"}, for_the_watch},
    {"batch_shares", {"batch_shares", "--one_pass"}, for_shares},
    {"batch_planner", {"batch_planner", "--one_pass", "--give_up"}, for_the_planner},
    {"gang_planner", {"gang_planner", "--one_pass"}, for_gangs},
    {"create_work", {"create_work", "--appname", "up", "--wu_name", "one", "--target_host", "3"}, for_create_work},
    {"create_work_stdin",
     {"create_work", "--appname", "up", "--stdin"},
     for_create_work,
     "--wu_name a --target_host 1\n--wu_name b\n--wu_name c --target_user 1\n"},
    {"batch_create", {"sluice_batch", "create", "--user", "1", "--app", "up", "--name", "b"}, for_create_work},
    {"batch_submit", {"sluice_batch", "submit", "1", "jobs"}, for_a_submission},
    {"batch_abort", {"sluice_batch", "abort", "1"}, for_the_batch_programs},
};

class ProgramFaults : public ::testing::TestWithParam<Scenario> {
  protected:
    ProgramFaults() : project(PrivateMariaDb::shared(), "faults") {
        std::ofstream(project.folder() / "templates/out") << kOutputTemplate;
        first = project.rows();
        App sized = first.apps[1], accel = sized;
        sized.id = 2;
        sized.name = "sized";
        sized.n_size_classes = 3;
        accel.id = 3;
        accel.name = "accel";
        accel.n_size_classes = 1;
        first.apps[2] = sized;
        first.apps[3] = accel;
        add_hosts(first);
        GetParam().build(first, project.folder());
    }
    void reset() {
        const Sql own(
            "SELECT table_name FROM information_schema.tables WHERE table_schema=database() AND table_name LIKE "
            "'sluice_%'");
        for (const auto& table : rows_of(project.db(), own, 1)) {
            Sql drop("DROP TABLE ");
            project.db().execute(drop.identifier(table[0]));
        }
        truncate_all_tables(project.db());
        project.rows() = first;
        project.store();
        store_more();
        fs::remove(project.folder() / "batch_stats.state");
    }
    /// What no FakeDb has.
    void store_more() {
        const auto build = GetParam().build;
        if (build == for_shares) {
            project.set_options("<share_rule>settled</share_rule>");
            make_share_store(project.db())->prepare();
            project.db().execute(
                Sql("INSERT INTO user_submit (user_id, quota, logical_start_time, submit_all, manage_all, "
                    "max_jobs_in_progress) VALUES (1,1,0,1,0,0)"));
        }
        if (build == for_the_watch) project.set_options("<batch_stop_failing>1</batch_stop_failing>");
        if (build == for_the_planner) an_instance_is_late();
        if (build == for_gangs) make_gangs();
    }
    void an_instance_is_late() {
        const auto plans = make_batch_plan_store(project.db());
        plans->prepare();
        BatchPlan plan;
        plan.made_at = static_cast<double>(std::time(nullptr)) - 60;
        plan.batches.push_back({1, plan.made_at, 1, 1, 1, kHosts});
        plans->publish(plan, {});
        const ReissueTimer timer{first.results.last().first, 1, plan.made_at};
        plans->set_timers({&timer, 1}, {});
    }
    /// Of the three last workunits: one waits for a host, of the gang of the others a member is missing.
    void make_gangs() {
        prepare_host_attempts(project.db());
        make_gang_lease_store(project.db())->prepare();
        const auto gangs = make_gang_store(project.db());
        const Id last = first.workunits.last().first;
        const auto name = [&](Id workunit) { return first.workunits.at(workunit).name; };
        const GangJob alone{{1, 0}, 0, name(last)};
        const std::vector<GangJob> lonely{{{1, 1}, 0, name(last - 1)}, {{1, 1}, 1, name(last - 2)}};
        gangs->define({&alone, 1}, 1);
        gangs->define(lonely, 3);
    }
    RunResult run_through(const SqlProxy& proxy) {
        const Scenario& s = GetParam();
        std::vector<std::string> command = s.command;
        command[0] = binary_dir() + "/bin/" + command[0];
        RunOptions options = project.run_options();
        options.env["MYSQL_UNIX_PORT"] = proxy.socket().string();
        options.stdin_text = s.input;
        options.cwd = project.folder();
        return run(command, options, 120);
    }
    /// All rows that these programs write, without clock times, random numbers, and ids (a number that was taken by an
    /// attempt that came to nothing is not given out again).
    std::string content() {
        std::string all;
        for (const std::string table :
             {"workunit", "result", "host", "host_app_version", "user", "batch", "app", "app_version",
              "sluice_accel_job", "sluice_accel_result", "sluice_host_ltt", "sluice_share_batch", "sluice_share_user",
              "sluice_share_day", "sluice_batch_event", "sluice_plan_batch", "sluice_gang", "sluice_gang_lease"}) {
            Sql columns(
                "SELECT column_name FROM information_schema.columns WHERE table_schema=database() AND column_name NOT LIKE "
                "'%time' AND column_name NOT IN ('random','since','xml_doc_in','expavg_credit','report_deadline','day',"
                "'start_tag','end_tag','at','due','version','finish','jobs','ended','start') AND NOT (column_name='id' AND "
                "table_name IN ('workunit','result','batch')) AND table_name=");
            const auto names = rows_of(project.db(), columns << SqlText{table} << " ORDER BY ordinal_position", 1);
            if (names.empty()) continue;
            Sql rows("SELECT CONCAT_WS('|'");
            for (const auto& name : names) (rows << ",").identifier(name[0]);
            (rows << ") text FROM ").identifier(table);
            for (const auto& row : rows_of(project.db(), rows << " ORDER BY 1", 1)) all += table + ": " + row[0] + "\n";
        }
        const Sql assignments(
            "SELECT CONCAT_WS('|',w.name,a.target_type,a.target_id,a.multi) FROM assignment a LEFT JOIN workunit w ON "
            "w.id=a.workunitid ORDER BY 1");
        for (const auto& row : rows_of(project.db(), assignments, 1)) all += "assignment: " + row[0] + "\n";
        return all;
    }

    TestProject project;
    FakeDb first;
};

/// Without locks. Cut off in a transaction it is as if the write behind it were, elsewhere it is repeated: one is
/// tried.
bool only_reads(const std::string& statement) {
    return statement.size() > 6 && (statement.substr(0, 6) == "SELECT" || statement.substr(0, 6) == "select") &&
           statement.find("FOR UPDATE") == std::string::npos;
}

TEST_P(ProgramFaults, ABrokenConnectionLosesNothingAndDoublesNothing) {
    const fs::path server = PrivateMariaDb::shared().socket();
    reset();
    const std::string before = content();
    std::vector<std::string> texts;
    {
        SqlProxy whole(server, [&](const std::string& text, int) {
            texts.push_back(text);
            return Action::kPass;
        });
        ASSERT_EQ(run_through(whole).status, 0);
    }
    const std::string expected = content();
    ASSERT_NE(expected, before) << "the program had nothing to do";
    bool read_tried = false;
    for (std::size_t at = 0; at < texts.size(); ++at) {
        if (only_reads(texts[at]) && std::exchange(read_tried, true)) continue;
        for (const Action action : {Action::kCutBefore, Action::kCutAfter}) {
            if (action == Action::kCutAfter && only_reads(texts[at])) continue;  // the same as before
            SCOPED_TRACE(std::string(action == Action::kCutBefore ? "before" : "after") + " statement " +
                         std::to_string(at + 1) + ": " + texts[at].substr(0, 80));
            reset();
            SqlProxy proxy(server, [&](const std::string&, int number) {
                return number == static_cast<int>(at) + 1 ? action : Action::kPass;
            });
            const RunResult first_run = run_through(proxy);
            ASSERT_EQ(proxy.cuts(), 1);
            if (first_run.status != 0) {
                EXPECT_EQ(content(), before) << "it gave up, having written something: " << first_run.err;
                EXPECT_EQ(run_through(proxy).status, 0) << "cron, or the admin, starts it again";
            }
            ASSERT_EQ(content(), expected) << first_run.out << first_run.err;
        }
    }
}
INSTANTIATE_TEST_SUITE_P(Programs, ProgramFaults, ::testing::ValuesIn(kScenarios),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace
}  // namespace sluice::test
