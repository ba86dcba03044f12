// SPDX-License-Identifier: LGPL-3.0-or-later
// size_census as a program on a real MariaDB.
#include "tests/db/size/size_world.h"

namespace sluice::test {
namespace {

TEST_F(SizePrograms, CensusWritesQuantilesOfActiveHosts) {
    for (Id h = 1; h <= 9; ++h) measure(h, 1e-9 / static_cast<double>(h), 100);
    measure(10, 1e-15, 1);  // not at work lately: not measured at level 0
    store();
    const auto r = run_program({"size_census"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(read_file(project_ / "size_census_multi"), "2.000000e+9\n3.500000e+9\n");
    EXPECT_FALSE(fs::exists(project_ / "size_census_plain"));
}

TEST_F(SizePrograms, CensusLevel1SeesNewAnonymousAndGpuHosts) {
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
    EXPECT_EQ(read_file(project_ / "size_census_multi"), "2.750000e+9\n1.275000e+11\n") << "between the devices";
}

TEST_F(SizePrograms, CensusWithoutMeasuredHostsLeavesGoodFileAlone) {
    store();
    auto r = run_program({"size_census"});
    EXPECT_EQ(r.status, 0);
    EXPECT_FALSE(fs::exists(project_ / "size_census_multi"));
    EXPECT_NE(r.err.find("[warning]"), std::string::npos) << r.err;
    project_.write("size_census_multi", "1.0e+09\n2.0e+09\n");
    EXPECT_EQ(run_program({"size_census"}).status, 0);
    EXPECT_EQ(read_file(project_ / "size_census_multi"), "1.0e+09\n2.0e+09\n");
}

// <replica_db_name>, <replica_db_user>, <replica_db_passwd>, <replica_db_host>: each with a wrong value is missed.
TEST_F(SizePrograms, CensusReadsTheReplica) {
    const std::string shared_socket = PrivateMariaDb::shared().socket().string();
    PrivateMariaDb copy({.tcp = true});
    copy.create_project_database("copy");
    Database there(copy.settings("copy"));
    there.execute(Sql("CREATE USER reader@'127.0.0.1' IDENTIFIED BY 'word'"));
    there.execute(Sql("GRANT SELECT ON copy.* TO reader@'127.0.0.1'"));
    store();  // the main database measures nobody
    for (Id h = 1; h <= 9; ++h) measure(h, 1e-9 / static_cast<double>(h), 100);
    store_rows(there, rows_);
    const auto census = [&](int level, const std::string& wrong) {
        std::string options = "<compat_level>" + std::to_string(level) + "</compat_level>";
        const auto give = [&](const std::string& what, const std::string& right, const std::string& other) {
            const std::string tag = "replica_db_" + what;
            options += "<" + tag + ">" + (what == wrong ? other : right) + "</" + tag + ">";
        };
        give("name", "copy", "another"), give("user", "reader", "nobody"), give("passwd", "word", "sword");
        give("host", "127.0.0.1:" + std::to_string(copy.port()), "127.0.0.1:1");
        project_.write("config.xml", "<boinc><config>" + options + PrivateMariaDb::shared().config_elements("size") +
                                         "</config></boinc>");
        fs::remove(project_ / "size_census_multi");
        const RunResult r = run_program({"size_census"});
        EXPECT_EQ(r.status == 0, fs::exists(project_ / "size_census_multi")) << r.err;
        return r.status == 0;
    };
    ::setenv("MYSQL_UNIX_PORT", shared_socket.c_str(), 1);
    for (const int level : {0, 1}) {
        EXPECT_TRUE(census(level, "nothing"));
        for (const char* wrong : {"name", "user", "passwd", "host"})
            EXPECT_FALSE(census(level, wrong)) << wrong << " at level " << level;
    }
}

TEST_F(SizePrograms, CensusOutlivesRestartAndKillLeavesOldFile) {
    const std::string shared_socket = PrivateMariaDb::shared().socket().string();
    PrivateMariaDb own({.flush_log_at_trx_commit = 1});
    own.create_project_database("size");
    Database db(own.settings("size"));
    for (Id h = 1; h <= 9; ++h) measure(h, 1e-9 / static_cast<double>(h), 100);
    store_rows(db, rows_);
    project_.write("size_census_multi", "1e+09\n2e+09\n");
    RunOptions o = options();
    o.env["MYSQL_UNIX_PORT"] = own.socket().string();
    const auto start_and_stop_it = [&](const std::function<void(Subprocess&, Database&)>& meanwhile) {
        Database blocker(own.settings("size"));
        blocker.execute(Sql("LOCK TABLES host WRITE"));
        // Of this one: the server may not have noticed yet that the one before was killed.
        const std::int64_t before = number_of(blocker, Sql("SELECT CONNECTION_ID()"));
        Subprocess p(command({"size_census"}), o);
        Database watcher(own.settings("size"));
        EXPECT_TRUE(eventually([&] {
            Sql asking(
                "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT hav.et_avg%' AND id>");
            return number_of(watcher, asking << before) > 0;
        })) << p.err();
        meanwhile(p, blocker);
    };
    start_and_stop_it([](Subprocess& p, Database&) {
        p.send_signal(SIGKILL);
        p.wait();
    });
    EXPECT_EQ(*read_file(project_ / "size_census_multi"), "1e+09\n2e+09\n");
    start_and_stop_it([&](Subprocess& p, Database& blocker) {
        p.send_signal(SIGTERM);
        blocker.execute(Sql("UNLOCK TABLES"));
        const auto ended = p.wait();
        ASSERT_TRUE(ended);
        EXPECT_EQ(ended->status, 0);
        EXPECT_NE(ended->err.find("stopped after 0 devices"), std::string::npos) << ended->err;
    });
    EXPECT_EQ(*read_file(project_ / "size_census_multi"), "1e+09\n2e+09\n");
    start_and_stop_it([&](Subprocess& p, Database&) {
        own.kill();
        EXPECT_TRUE(p.wait_for_output("trying again")) << p.err();
        own.start();
        EXPECT_EQ(p.wait()->status, 0);
    });
    EXPECT_EQ(*read_file(project_ / "size_census_multi"), "2.000000e+9\n3.500000e+9\n");
    int files = 0;
    for (const auto& entry : fs::directory_iterator(project_.path()))
        files += entry.path().filename().string().starts_with("size_census_") ? 1 : 0;
    EXPECT_EQ(files, 1) << "no half-written file is left";
    ::setenv("MYSQL_UNIX_PORT", shared_socket.c_str(), 1);
}

TEST_F(SizePrograms, AnUnwritableCensusFileStopsNoOtherApp) {
    for (Id h = 1; h <= 9; ++h) measure(h, 1e-9 / static_cast<double>(h), 100);
    rows_.apps[2].n_size_classes = 2;
    rows_.versions[13] = rows_.versions[11];
    rows_.versions[13].id = 13, rows_.versions[13].appid = 2;
    HostAppVersion hav = rows_.host_app_versions[{1, 11}];
    hav.app_version_id = 13;
    rows_.host_app_versions[{1, 13}] = hav;
    store();
    fs::create_directories(project_ / "size_census_multi");
    const RunResult r = run_program({"size_census"});
    EXPECT_EQ(r.status, 1);
    EXPECT_NE(r.err.find("app multi: Can't replace"), std::string::npos) << r.err;
    EXPECT_EQ(read_file(project_ / "size_census_plain"), "5.000000e+8\n");
}

TEST_F(SizePrograms, CensusAdviseAndDryRunWriteNoCensus) {
    for (Id h = 1; h <= 9; ++h) measure(h, 1e-9 / static_cast<double>(h * h), 100);
    store();
    const auto advice =
        run_program({"size_census", "--advise", "--target_runtime", "7200", "--svg", (project_ / "h.svg").string()});
    EXPECT_EQ(advice.status, 0) << advice.err;
    EXPECT_NE(advice.out.find("for a run time of 7200 s"), std::string::npos) << advice.out;
    EXPECT_TRUE(fs::exists(project_ / "h.svg"));
    ASSERT_EQ(run_program({"size_census", "--advise", "--all_apps", "--svg", (project_ / "all.svg").string()}).status,
              0);
    for (const char* picture : {"all_multi.svg", "all_plain.svg"})
        EXPECT_TRUE(fs::exists(project_ / picture)) << "each app has its own";
    EXPECT_NE(run_program({"size_census", "--dry_run"}).out.find("(9 devices)"), std::string::npos);
    EXPECT_FALSE(fs::exists(project_ / "size_census_multi"));
}

}  // namespace
}  // namespace sluice::test
