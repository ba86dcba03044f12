// SPDX-License-Identifier: LGPL-3.0-or-later
// size_regulator as a program on a real MariaDB.
#include <gmock/gmock.h>

#include "tests/db/size/size_world.h"

namespace sluice::test {
namespace {

using Table = std::vector<std::vector<std::string>>;

TEST_F(SizePrograms, RegulatorFillsEachClassToTheHighMark) {
    add_jobs(50, ServerState::kInactive, 0);
    add_jobs(3, ServerState::kInactive, 1);
    add_jobs(30, ServerState::kInactive, 2);
    add_jobs(12, ServerState::kUnsent, 2);
    store();
    const auto r = run_program(
        {"size_regulator", "--app_name", "multi", "--lo", "10", "--hi", "20", "--sleep_time", "1", "--one_pass"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(unsent(0), 20);
    EXPECT_EQ(unsent(1), 3);
    EXPECT_EQ(unsent(2), 12) << "above its low mark";
    EXPECT_NE(r.err.find("class 1: 17 more were wanted"), std::string::npos) << r.err;
    for (const char* line : {" UTC 0 unsent for class 0 (multi)\n", " UTC 12 unsent for class 2 (multi)\n",
                             " UTC releasing 20 jobs of size class 0 (multi)\n", " UTC 20 jobs released\n"})
        EXPECT_NE(r.err.find(line), std::string::npos) << line << r.err;
}

TEST_F(SizePrograms, RegulatorOrders) {
    const auto released = [&](const char* option) {
        truncate_all_tables(db_);
        rows_.results.clear();
        rows_.workunits.clear();
        add_jobs(10, ServerState::kInactive, 0, 100);
        for (auto& [id, r] : rows_.results) r.random = (id * 7) % 11;
        store();
        std::vector<std::string> args{"size_regulator", "--app_name", "multi", "--lo", "1", "--hi", "3", "--one_pass"};
        if (*option != '\0') args.emplace_back(option);
        EXPECT_EQ(run_program(args).status, 0);
        std::string ids;
        for (const auto& row : rows_of(db_, Sql("SELECT id FROM result WHERE server_state=2 ORDER BY id"), 1))
            ids += row[0] + " ";
        return ids;
    };
    EXPECT_EQ(released(""), "1 2 3 ");
    EXPECT_EQ(released("--priority_order"), "8 9 10 ");
    EXPECT_EQ(released("--priority_asc"), "1 2 3 ");
    EXPECT_EQ(released("--priority_order_create_time"), "8 9 10 ");
    EXPECT_EQ(released("--random_order"), "2 5 8 ");  // the random column is (id * 7) % 11: 3, 2 and 1 for these
}

/// One sort of the queue serves several releases. What was drawn and cancelled since is replaced.
TEST_F(SizePrograms, RandomOrderHoldsOverSeveralReleases) {
    add_jobs(30, ServerState::kInactive, 0);
    for (auto& [id, r] : rows_.results) r.random = id * 7 % 31;
    store();
    const auto store = make_size_regulator_store(db_);
    const auto release = [&](std::int64_t n) {
        db_.execute(Sql("UPDATE result SET server_state=4 WHERE server_state=2"));
        const auto released = store->release(1, ReleaseOrder::kRandom, [&](const auto&) {
            return std::vector<std::pair<int, std::int64_t>>{{0, n}};
        });
        std::vector<std::int64_t> drawn;
        for (const auto& row : rows_of(db_, Sql("SELECT random FROM result WHERE server_state=2 ORDER BY random"), 1))
            drawn.push_back(std::stoll(row[0]));
        EXPECT_EQ(released, std::vector<std::int64_t>{static_cast<std::int64_t>(drawn.size())});
        return drawn;
    };
    using testing::ElementsAre;
    EXPECT_THAT(release(3), ElementsAre(1, 2, 3));
    db_.execute(Sql("UPDATE result SET server_state=5 WHERE random IN (4,6)"));
    db_.execute(Sql("UPDATE result SET size_class=1 WHERE random=7"));
    EXPECT_THAT(release(3), ElementsAre(5, 8, 9));
    db_.execute(Sql("UPDATE result SET server_state=1 WHERE random=1"));  // came back
    EXPECT_THAT(release(20), testing::SizeIs(20));
    EXPECT_THAT(release(5), ElementsAre(1, 30)) << "the last ones, and the one that came back";
    EXPECT_THAT(release(5), testing::IsEmpty());
    store->look_everywhere(1);
    db_.execute(Sql("UPDATE result SET server_state=1 WHERE random=2"));
    EXPECT_THAT(release(5), ElementsAre(2));
}

TEST_F(SizePrograms, TwoRegulatorsAtOnceNeverExceedHighMark) {
    add_jobs(400, ServerState::kInactive, 0);
    add_jobs(400, ServerState::kInactive, 1);
    store();
    const auto args = command(
        {"size_regulator", "--app_name", "multi", "--lo", "50", "--hi", "100", "--sleep_time", "0.01", "-d", "1"});
    Subprocess a(args, options()), b(args, options()), c(args, options());
    for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(eventually([&] { return unsent(0) >= 50 && unsent(1) >= 50; }));
        EXPECT_LE(unsent(0), 100);
        EXPECT_LE(unsent(1), 100);
        db_.execute(Sql("UPDATE result SET server_state=4 WHERE server_state=2 AND size_class=0 LIMIT 60"));
        db_.execute(Sql("UPDATE result SET server_state=1 WHERE server_state=4"));
    }
    for (Subprocess* p : {&a, &b, &c}) {
        ASSERT_TRUE(eventually([&] { return p->catches(SIGTERM); })) << p->err();
        p->send_signal(SIGTERM);
        EXPECT_EQ(p->wait()->status, 0);
    }
}

TEST_F(SizePrograms, RegulatorNoticesChangeOfNumberOfClasses) {
    add_jobs(5, ServerState::kInactive, 3);
    add_jobs(2, ServerState::kInactive, -1);
    add_jobs(1, ServerState::kUnsent, -1);  // it needs nobody to release it
    store();
    Subprocess p(command({"size_regulator", "--app_name", "multi", "--lo", "2", "--hi", "4", "--sleep_time", "0.05"}),
                 options());
    ASSERT_TRUE(p.wait_for_output("7 jobs are of size classes that do not exist (class -1: 2, class 3: 5; it has 3)"));
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
    ASSERT_EQ(
        run_program({"size_regulator", "--app_name", "multi", "--lo", "1", "--hi", "1", "--one_pass", "--reclassify"})
            .status,
        0);
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
         {std::vector<std::string>{"size_regulator", "--app_name", "multi", "--lo", "9", "--hi", "8", "--sleep_time",
                                   "1"},
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
    ASSERT_EQ(run_program({"size_regulator", "--app_name", "multi", "--lo", "1", "--hi", "2", "--app_name", "plain",
                           "--lo", "1", "--hi", "1", "--one_pass"})
                  .status,
              0);
    EXPECT_EQ(rows_of(db_, Sql("SELECT appid, COUNT(*) FROM result WHERE server_state=2 GROUP BY 1 ORDER BY 1"), 2),
              (Table{{"1", "2"}, {"2", "1"}}));
}

TEST_F(SizePrograms, ADryClassCausesNoRepeatedScans) {
    add_jobs(5, ServerState::kUnsent, 0);
    add_jobs(10, ServerState::kInactive, 2, 7);
    store();
    db_.execute(Sql(
        "INSERT INTO result (id, name, priority, random, create_time, workunitid, server_state, outcome, client_state, hostid, "
        "userid, report_deadline, sent_time, received_time, cpu_time, batch, file_delete_state, validate_state, claimed_credit, "
        "granted_credit, opaque, app_version_num, appid, exit_status, teamid, elapsed_time, flops_estimate, app_version_id, "
        "runtime_outlier, size_class, peak_working_set_size, peak_swap_size, peak_disk_usage) "
        "SELECT 100+seq, CONCAT('other', seq), seq MOD 7, seq, 1, seq, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, "
        "0, 0, 0, 0, 0, 0, 0 FROM seq_1_to_60000"));
    db_.query(Sql("ANALYZE TABLE result"));
    for (const ReleaseOrder order : {ReleaseOrder::kNone, ReleaseOrder::kRandom, ReleaseOrder::kPriorityAscending,
                                     ReleaseOrder::kPriorityDescending, ReleaseOrder::kPriorityThenWorkunit}) {
        Database own(settings());
        const auto store = make_size_regulator_store(own);
        const auto want = [&](std::int64_t n) {
            const auto decide = [&](const std::map<int, std::int64_t>&) {
                return std::vector<std::pair<int, std::int64_t>>{{2, n}};
            };
            return store->release(1, order, decide).at(0);
        };
        const auto reads = [&] {
            std::int64_t sum = 0;
            Rows status = own.query(Sql("SHOW SESSION STATUS LIKE 'Handler_read%'"));
            while (status.next()) sum += status.i64(1);
            return sum;
        };
        EXPECT_EQ(want(15), 10);
        const std::int64_t before = reads();
        EXPECT_EQ(want(5), 0);
        EXPECT_LT(reads() - before, 21000) << "the newest 20,000 ids, not all";
        // A job that the transitioner makes is found; one that somebody put back is found after look_everywhere().
        own.execute(Sql("UPDATE result SET size_class=2 WHERE id=60100"));
        EXPECT_EQ(want(5), 1);
        own.execute(Sql("UPDATE result SET server_state=1 WHERE size_class=2"));
        EXPECT_EQ(want(50), 1) << "the new one";
        store->look_everywhere(1);
        EXPECT_EQ(want(50), 10) << "the old ones";
        own.execute(Sql("UPDATE result SET server_state=1, size_class=IF(id>100,0,2) WHERE size_class=2"));
    }
}

TEST_F(SizePrograms, AppsMayHaveTheirOwnMarksAndInterval) {
    rows_.apps[2].n_size_classes = 2;
    add_jobs(20, ServerState::kInactive, 0, 1);
    for (auto& [id, r] : rows_.results)
        if (id > 10) r.appid = 2;
    store();
    const auto with_section = [&](const std::string& section) {
        std::string text = *read_file(project_ / "config.xml");
        text.insert(text.rfind("</boinc>"), "<size_regulator>" + section + "</size_regulator>");
        project_.write("config.xml", text);
    };
    EXPECT_EQ(run_program({"size_regulator"}).status, 1);
    with_section(
        "<sleep_time>0.05</sleep_time><app><name>multi</name><lo>1</lo><hi>2</hi></app>"
        "<app><name>plain</name><lo>2</lo><hi>3</hi><sleep_time>3600</sleep_time><priority_order/></app>");
    Subprocess p(command({"size_regulator"}), options());
    const auto unsent_of = [&](int app) {
        Sql sql("SELECT COUNT(*) FROM result WHERE server_state=2 AND appid=");
        return number_of(db_, sql << app);
    };
    ASSERT_TRUE(eventually([&] { return unsent_of(1) == 2 && unsent_of(2) == 3; })) << p.err();
    EXPECT_EQ(number_of(db_, Sql("SELECT MIN(priority) FROM result WHERE server_state=2 AND appid=2")), 18)
        << "the highest first";
    // Whatever was released to the last job wanted is looked at once more at once: when jobs of the other app, which is
    // first in a pass, were released twice since, that look is over.
    const Sql of_first("UPDATE result SET server_state=4 WHERE server_state=2 AND appid=1");
    for (const Sql& taken : {of_first, of_first, Sql("UPDATE result SET server_state=4 WHERE server_state=2")}) {
        db_.execute(taken);
        EXPECT_TRUE(eventually([&] { return unsent_of(1) == 2; })) << p.err();
    }
    EXPECT_EQ(unsent_of(2), 0) << "its next poll is in an hour";
    p.send_signal(SIGTERM);
    EXPECT_EQ(p.wait()->status, 0);
    // The command line goes before the section; a bad section names file, app and what is wrong.
    EXPECT_EQ(run_program({"size_regulator", "--app_name", "plain", "--lo", "1", "--hi", "1", "--one_pass"}).status, 0);
    EXPECT_EQ(unsent_of(2), 1);
    write_config(0);
    with_section("<sleep_time>1</sleep_time><app><name>multi</name><lo>5</lo><hi>2</hi></app>");
    const auto bad = run_program({"size_regulator"});
    EXPECT_EQ(bad.status, 1);
    EXPECT_NE(bad.err.find("app 'multi': --lo 5 is above --hi 2"), std::string::npos) << bad.err;
}

TEST_F(SizePrograms, RegulatorOutlivesTheDatabase) {
    const std::string shared_socket = PrivateMariaDb::shared().socket().string();
    PrivateMariaDb own({.flush_log_at_trx_commit = 1});
    own.create_project_database("size");
    Database db(own.settings("size"));
    add_jobs(9, ServerState::kInactive, 0);
    store_rows(db, rows_);
    Subprocess p(command({"size_regulator", "--app_name", "multi", "--lo", "3", "--hi", "4", "--sleep_time", "0.05"}),
                 [&] {
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

}  // namespace
}  // namespace sluice::test
