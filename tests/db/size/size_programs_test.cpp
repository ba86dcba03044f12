// size_regulator and size_census as programs on a real MariaDB.
#include <gtest/gtest.h>

#include "sluice/base/files.h"
#include "tests/support/database_rows.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

class SizePrograms : public testing::Test {
  protected:
    SizePrograms() : db_(settings()) {
        truncate_all_tables(db_);
        write_config(0);
        fs::create_directories(project_ / "cgi-bin");
        App a;
        a.id = 1;
        a.name = "multi";
        a.n_size_classes = 3;
        rows_.apps[1] = a;
        a.id = 2;
        a.name = "plain";
        a.n_size_classes = 0;
        rows_.apps[2] = a;
    }
    static DbSettings settings() {
        static const DbSettings made = PrivateMariaDb::shared().create_project_database("size");
        return made;
    }
    void write_config(int level) {
        project_.write("config.xml", "<boinc><config><compat_level>" + std::to_string(level) +
                                         "</compat_level><db_name>size</db_name><db_user>root</db_user><db_passwd></db_passwd>"
                                         "<db_host>localhost</db_host></config></boinc>");
    }
    RunOptions options() {
        RunOptions o;
        o.env["BOINC_PROJECT_DIR"] = project_.path().string();
        return o;
    }
    static std::vector<std::string> command(std::vector<std::string> args) {
        args[0] = std::string(SLUICE_BIN) + "/" + args[0];
        return args;
    }
    RunResult run_program(const std::vector<std::string>& args) { return run(command(args), options()); }

    void add_jobs(int n, ServerState state, int size_class, std::int64_t first_priority = 0) {
        for (int i = 0; i < n; ++i) {
            Workunit w;
            w.id = FakeDb::next_id(rows_.workunits);
            w.appid = 1;
            w.name = "w" + std::to_string(w.id);
            w.size_class = size_class;
            rows_.workunits[w.id] = w;
            Result r;
            r.id = w.id;
            r.workunitid = w.id;
            r.appid = 1;
            r.name = w.name + "_0";
            r.server_state = state;
            r.size_class = size_class;
            r.priority = first_priority + i;
            rows_.results[r.id] = r;
        }
    }
    void store() { store_rows(db_, rows_); }
    std::int64_t unsent(int size_class) {
        Sql sql("SELECT COUNT(*) FROM result WHERE server_state=2 AND size_class=");
        return number_of(db_, sql << size_class);
    }
    void measure(Id host, double et, double credit, const std::string& plan_class = "") {
        Host h;
        h.id = host;
        h.on_frac = 1;
        h.active_frac = 0.5;
        h.gpu_active_frac = 0.25;
        h.expavg_credit = credit;
        rows_.hosts[host] = h;
        const Id version = plan_class.empty() ? 11 : 12;
        AppVersion v;
        v.id = version;
        v.appid = 1;
        v.platformid = 1;
        v.version_num = 100;
        v.plan_class = plan_class;
        rows_.versions[version] = v;
        HostAppVersion hav;
        hav.host_id = host;
        hav.app_version_id = version;
        hav.et = {5, et, 0, 0};
        rows_.host_app_versions[{host, version}] = hav;
    }

    FakeDb rows_;
    TempDir project_;
    Database db_;
};
using Table = std::vector<std::vector<std::string>>;

TEST_F(SizePrograms, RegulatorFillsEachClassToTheHighMark) {
    add_jobs(50, ServerState::kInactive, 0);
    add_jobs(3, ServerState::kInactive, 1);
    add_jobs(30, ServerState::kInactive, 2);
    add_jobs(12, ServerState::kUnsent, 2);
    store();
    const auto r = run_program({"size_regulator", "--app_name", "multi", "--lo", "10", "--hi", "20", "--sleep_time", "1", "--one_pass"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(unsent(0), 20);
    EXPECT_EQ(unsent(1), 3);
    EXPECT_EQ(unsent(2), 12) << "above its low mark";
    EXPECT_NE(r.err.find("class 1: 17 more were wanted"), std::string::npos) << r.err;
}

TEST_F(SizePrograms, RegulatorOrders) {
    const auto released = [&](const char* option) {
        truncate_all_tables(db_);
        rows_.results.clear();
        rows_.workunits.clear();
        add_jobs(10, ServerState::kInactive, 0, 100);
        for (auto& [id, r] : rows_.results) r.random = (id * 7) % 11;
        store();
        EXPECT_EQ(run_program({"size_regulator", "--app_name", "multi", "--lo", "1", "--hi", "3", "--one_pass", option}).status, 0);
        std::string ids;
        for (const auto& row : rows_of(db_, Sql("SELECT id FROM result WHERE server_state=2 ORDER BY id"), 1)) ids += row[0] + " ";
        return ids;
    };
    EXPECT_EQ(released("--priority_order"), "8 9 10 ");
    EXPECT_EQ(released("--priority_asc"), "1 2 3 ");
    EXPECT_EQ(released("--priority_order_create_time"), "8 9 10 ");
    EXPECT_EQ(released("--random_order"), "2 5 8 ");  // the random column is (id * 7) % 11: 3, 2 and 1 for these
}

TEST_F(SizePrograms, TwoRegulatorsAtOnceNeverExceedTheHighMark) {
    add_jobs(400, ServerState::kInactive, 0);
    add_jobs(400, ServerState::kInactive, 1);
    store();
    const auto args = command({"size_regulator", "--app_name", "multi", "--lo", "50", "--hi", "100", "--sleep_time", "0.01", "-d", "1"});
    Subprocess a(args, options()), b(args, options()), c(args, options());
    for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(eventually([&] { return unsent(0) >= 50 && unsent(1) >= 50; }));
        EXPECT_LE(unsent(0), 100);
        EXPECT_LE(unsent(1), 100);
        db_.execute(Sql("UPDATE result SET server_state=4 WHERE server_state=2 AND size_class=0 LIMIT 60"));
        db_.execute(Sql("UPDATE result SET server_state=1 WHERE server_state=4"));
    }
    for (Subprocess* p : {&a, &b, &c}) {
        p->send_signal(SIGTERM);
        EXPECT_EQ(p->wait()->status, 0);
    }
}

TEST_F(SizePrograms, RegulatorNoticesAChangeOfTheNumberOfClasses) {
    add_jobs(5, ServerState::kInactive, 3);
    store();
    Subprocess p(command({"size_regulator", "--app_name", "multi", "--lo", "2", "--hi", "4", "--sleep_time", "0.05"}), options());
    ASSERT_TRUE(p.wait_for_output("5 jobs are of size classes that do not exist"));
    EXPECT_EQ(unsent(3), 0);
    db_.execute(Sql("UPDATE app SET n_size_classes=4 WHERE id=1"));
    EXPECT_TRUE(eventually([&] { return unsent(3) == 4; }));
    p.send_signal(SIGHUP);
    EXPECT_EQ(p.wait()->status, 0);
}

TEST_F(SizePrograms, ReclassifyGivesOrphansTheLargestClass) {
    add_jobs(5, ServerState::kInactive, 7);
    add_jobs(2, ServerState::kUnsent, 3);
    add_jobs(1, ServerState::kInProgress, 9);
    store();
    ASSERT_EQ(run_program({"size_regulator", "--app_name", "multi", "--lo", "1", "--hi", "1", "--one_pass", "--reclassify"}).status, 0);
    EXPECT_EQ(rows_of(db_, Sql("SELECT size_class, server_state, COUNT(*) FROM result GROUP BY 1,2 ORDER BY 1,2"), 3),
              (Table{{"2", "1", "5"}, {"2", "2", "2"}, {"9", "4", "1"}}));
    EXPECT_EQ(number_of(db_, Sql("SELECT COUNT(*) FROM workunit WHERE size_class=2")), 7);
}

TEST_F(SizePrograms, DryRunWritesNothing) {
    add_jobs(5, ServerState::kInactive, 0);
    store();
    const auto r = run_program({"size_regulator", "--app_name", "multi", "--lo", "1", "--hi", "4", "--dry_run"});
    EXPECT_EQ(r.status, 0);
    EXPECT_NE(r.out.find("multi class 0: would release up to 4"), std::string::npos) << r.out;
    EXPECT_EQ(unsent(0), 0);
}

TEST_F(SizePrograms, RegulatorRefusesWhatMakesNoSense) {
    store();
    for (const std::vector<std::string>& args :
         {std::vector<std::string>{"size_regulator", "--app_name", "multi", "--lo", "9", "--hi", "8", "--sleep_time", "1"},
          {"size_regulator", "--app_name", "multi", "--hi", "8", "--sleep_time", "1"},
          {"size_regulator", "--lo", "1", "--hi", "8", "--sleep_time", "1"},
          {"size_regulator", "--app_name", "multi", "--lo", "1", "--hi", "8"},
          {"size_regulator", "--app_name", "multi", "--lo", "x", "--hi", "8", "--sleep_time", "1"},
          {"size_regulator", "--app_name", "nosuch", "--lo", "1", "--hi", "8", "--sleep_time", "1"},
          {"size_regulator", "--app_name", "plain", "--lo", "1", "--hi", "8", "--sleep_time", "1"}})
        EXPECT_EQ(run_program(args).status, 1) << args[1] << args[2];
}

TEST_F(SizePrograms, SeveralAppsInOneProcess) {
    rows_.apps[2].n_size_classes = 2;
    add_jobs(5, ServerState::kInactive, 0);
    for (auto& [id, r] : rows_.results)
        if (id > 3) r.appid = 2;
    store();
    ASSERT_EQ(run_program({"size_regulator", "--app_name", "multi", "--lo", "1", "--hi", "2", "--app_name", "plain", "--lo", "1", "--hi", "1", "--one_pass"}).status, 0);
    EXPECT_EQ(rows_of(db_, Sql("SELECT appid, COUNT(*) FROM result WHERE server_state=2 GROUP BY 1 ORDER BY 1"), 2), (Table{{"1", "2"}, {"2", "1"}}));
}

TEST_F(SizePrograms, RegulatorOutlivesTheDatabase) {
    const std::string shared_socket = PrivateMariaDb::shared().socket().string();
    PrivateMariaDb own({.flush_log_at_trx_commit = 1});
    own.create_project_database("size");
    Database db(own.settings("size"));
    add_jobs(9, ServerState::kInactive, 0);
    store_rows(db, rows_);
    Subprocess p(command({"size_regulator", "--app_name", "multi", "--lo", "3", "--hi", "4", "--sleep_time", "0.05"}), [&] {
        RunOptions o = options();
        o.env["MYSQL_UNIX_PORT"] = own.socket().string();
        return o;
    }());
    const auto count = [&] { return number_of(db, Sql("SELECT COUNT(*) FROM result WHERE server_state=2")); };
    ASSERT_TRUE(eventually([&] { return count() == 4; }));
    own.kill();
    db.disconnect();
    own.start();
    db.execute(Sql("UPDATE result SET server_state=4 WHERE server_state=2"));
    EXPECT_TRUE(eventually([&] { return count() == 4; }));
    EXPECT_TRUE(p.running());
    setenv("MYSQL_UNIX_PORT", shared_socket.c_str(), 1);
}

TEST_F(SizePrograms, CensusWritesQuantilesOfActiveHosts) {
    for (Id h = 1; h <= 9; ++h) measure(h, 1e-9 / static_cast<double>(h), 100);
    measure(10, 1e-15, 1);  // not at work lately: not measured at level 0
    store();
    const auto r = run_program({"size_census"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(read_file(project_ / "size_census_multi"), "2.000000e+09\n3.500000e+09\n");
    EXPECT_FALSE(fs::exists(project_ / "size_census_plain"));
}

TEST_F(SizePrograms, CensusAtLevelOneSeesNewHostsAnonymousOnesAndGpus) {
    write_config(1);
    measure(1, 1e-9, 0);
    measure(2, 1e-12, 0, "cuda");
    HostAppVersion anonymous;
    anonymous.host_id = 1;
    anonymous.app_version_id = generalized_version_id(1, -2);
    anonymous.et = {1, 1e-10, 0, 0};
    rows_.host_app_versions[{1, anonymous.app_version_id}] = anonymous;
    store();
    ASSERT_EQ(run_program({"size_census"}).status, 0);
    EXPECT_EQ(read_file(project_ / "size_census_multi"), "5.000000e+09\n2.500000e+11\n");
}

TEST_F(SizePrograms, CensusWithoutMeasuredHostsLeavesAGoodFileAlone) {
    store();
    auto r = run_program({"size_census"});
    EXPECT_EQ(r.status, 0);
    EXPECT_FALSE(fs::exists(project_ / "size_census_multi"));
    EXPECT_NE(r.err.find("[warning]"), std::string::npos) << r.err;
    project_.write("size_census_multi", "1.0e+09\n2.0e+09\n");
    EXPECT_EQ(run_program({"size_census"}).status, 0);
    EXPECT_EQ(read_file(project_ / "size_census_multi"), "1.0e+09\n2.0e+09\n");
}

TEST_F(SizePrograms, CensusAdviseAndDryRunWriteNoCensus) {
    for (Id h = 1; h <= 9; ++h) measure(h, 1e-9 / static_cast<double>(h * h), 100);
    store();
    const auto advice = run_program({"size_census", "--advise", "--target_runtime", "7200", "--svg", (project_ / "h.svg").string()});
    EXPECT_EQ(advice.status, 0) << advice.err;
    EXPECT_NE(advice.out.find("for a run time of 7200 s"), std::string::npos) << advice.out;
    EXPECT_TRUE(fs::exists(project_ / "h.svg"));
    EXPECT_NE(run_program({"size_census", "--dry_run"}).out.find("(9 devices)"), std::string::npos);
    EXPECT_FALSE(fs::exists(project_ / "size_census_multi"));
}

}  // namespace
}  // namespace sluice::test
