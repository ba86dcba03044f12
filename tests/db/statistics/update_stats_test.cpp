// SPDX-License-Identifier: LGPL-3.0-or-later
// update_stats on a real MariaDB: its service with a clock of ours beside the values that upstream's program wrote, and
// the installed program.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "daemons/statistics/update_stats.h"
#include "sluice/model/average.h"
#include "tests/support/database_rows.h"
#include "tests/support/fake_clock.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

constexpr double kNow = 1800000000;

class UpdateStatsTest : public testing::Test {
  protected:
    UpdateStatsTest() : db_(settings()), store_(make_statistics_store(db_)) { truncate_all_tables(db_); }
    static DbSettings settings() {
        static const DbSettings made = PrivateMariaDb::shared().create_project_database("statistics");
        return made;
    }
    void user(Id id, double average, double time, Id team = 0) {
        Sql sql(
            "INSERT INTO user (id, create_time, email_addr, name, authenticator, teamid, expavg_credit, expavg_time) "
            "VALUES (");
        const std::string name = "u" + std::to_string(id);
        sql << id << ",1," << SqlText{name} << "," << SqlText{name} << "," << SqlText{name} << "," << team << ","
            << average << "," << time << ")";
        db_.execute(sql);
    }
    void team(Id id, double average, double time, int nusers) {
        Sql sql(
            "INSERT INTO team (id, create_time, userid, name, name_lc, nusers, expavg_credit, expavg_time) VALUES (");
        const std::string name = "t" + std::to_string(id);
        sql << id << ",1,1," << SqlText{name} << "," << SqlText{name} << "," << nusers << "," << average << "," << time
            << ")";
        db_.execute(sql);
    }
    void host(Id id, double average, double time) {
        Sql sql("INSERT INTO host (id, create_time, userid, expavg_credit, expavg_time) VALUES (");
        db_.execute(sql << id << ",1,1," << average << "," << time << ")");
    }
    void version(Id id, double average, double time) {
        Sql sql(
            "INSERT INTO app_version (id, create_time, appid, version_num, platformid, expavg_credit, expavg_time) "
            "VALUES (");
        db_.execute(sql << id << ",1,1," << id << ",1," << average << "," << time << ")");
    }
    struct Averaged {
        double average = 0, time = 0;
    };
    Averaged read(SqlLiteral table, Id id) {
        Sql sql("SELECT expavg_credit, expavg_time FROM ");
        Rows r = db_.query(sql << table << " WHERE id=" << id);
        Averaged row;
        if (r.next()) r.read(row.average, row.time);
        return row;
    }
    void expect(SqlLiteral table, Id id, double average, double time) {
        const Averaged row = read(table, id);
        EXPECT_DOUBLE_EQ(row.average, average) << table.text << " " << id;
        EXPECT_DOUBLE_EQ(row.time, time) << table.text << " " << id;
    }
    void update(UpdateStatsOptions options = {}) {
        FakeClock clock(kNow);
        EXPECT_EQ(UpdateStats(*store_, std::move(options), clock).turn().result, TurnResult::kFinished);
    }

    Database db_;
    std::unique_ptr<StatisticsStore> store_;
};

// What upstream's program wrote at that time, row by row.
TEST_F(UpdateStatsTest, AveragesFadeAsUpstreamWritesThem) {
    user(1, 0.09, 1799956800), user(2, 0.15, 1799913600.864), user(3, 0.11, 1799913600), user(4, 4.875, 1799913599.136);
    user(6, 148148.14815, 1798790400), user(11, 3.25, 0), user(31, 0.11, 1791360000);
    host(1, 250, 1799395200), version(1, 120.5, 1799740800), version(3, 9999.25, 1799956800);
    version(4, 0, 1796544000), version(5, 0.0000004, 1791360000), team(1, 77, 1799913591.36, 0);
    update();
    expect("user", 1, 0.09, 1799956800);
    expect("user", 2, 0.15, 1799913600.864);  // not a day old
    expect("user", 3, 0.11, 1799913600);
    expect("user", 4, 4.415398, kNow);
    expect("user", 6, 37037.037038, kNow);
    expect("user", 11, 3.25, kNow);
    expect("user", 31, 0.000006, kNow);
    expect("host", 1, 125, kNow);
    expect("app_version", 1, 89.531156, kNow);
    expect("app_version", 3, 9999.25, 1799956800);
    expect("app_version", 4, 0, 1796544000);
    expect("app_version", 5, 0, kNow);
    expect("team", 1, 69.740032, kNow);
}

TEST_F(UpdateStatsTest, TheStatementHasTheValidatorsFormula) {
    for (int i = 1; i <= 40; ++i) user(i, 0.2 + i * i * 37.7, kNow - 86401 - i * 54321.5);
    update({.page = 7});
    for (int i = 1; i <= 40; ++i) {
        double average = 0.2 + i * i * 37.7, time = kNow - 86401 - i * 54321.5;
        add_credit(kNow, 0, 0, average, time);
        EXPECT_NEAR(read("user", i).average, average, 0.5000001e-6) << i;
    }
}

TEST_F(UpdateStatsTest, CreditGrantedMeanwhileIsKept) {
    user(1, 100, kNow - 604800), user(2, 100, kNow - 604800);
    const auto ids = store_->aged(CreditTable::kUser, 0, kNow - 86400, 10);
    ASSERT_EQ(ids, (std::vector<Id>{1, 2}));
    Sql sql("UPDATE user SET expavg_credit=250, expavg_time=");
    db_.execute(sql << kNow - 5 << " WHERE id=1");
    EXPECT_EQ(store_->decay(CreditTable::kUser, ids, kNow - 86400, kNow), 1);
    expect("user", 1, 250, kNow - 5);
    expect("user", 2, 50, kNow);
}

TEST_F(UpdateStatsTest, TeamsAreCountedWhileTheyHaveCredit) {
    for (int i = 1; i <= 5; ++i) user(i, 0, 0, i <= 3 ? 1 : 2);
    team(1, 5, kNow, 22), team(2, 0.1, kNow, 22), team(3, 5, kNow, 4);
    EXPECT_TRUE(store_->correct_team_size({3, 4, 4}));
    EXPECT_FALSE(store_->correct_team_size({3, 9, 1})) << "somebody else has corrected it";
    update({.page = 1});
    EXPECT_EQ(number_of(db_, Sql("SELECT nusers FROM team WHERE id=1")), 3);
    EXPECT_EQ(number_of(db_, Sql("SELECT nusers FROM team WHERE id=2")), 22);
    EXPECT_EQ(number_of(db_, Sql("SELECT nusers FROM team WHERE id=3")), 0);
}

TEST_F(UpdateStatsTest, OnlyNamedTablesAndNoneInDryRun) {
    user(1, 100, kNow - 604800), host(1, 100, kNow - 604800), team(1, 100, kNow - 604800, 7);
    update({.dry_run = true});
    update({.tables = {CreditTable::kHost}});
    expect("user", 1, 100, kNow - 604800);
    expect("host", 1, 50, kNow);
    expect("team", 1, 100, kNow - 604800);
    EXPECT_EQ(number_of(db_, Sql("SELECT nusers FROM team")), 7);
}

TEST_F(UpdateStatsTest, ProgramRunsOnceAndNeedsNoSecondRun) {
    TempDir project;
    project.write("config.xml",
                  "<boinc><config>" + PrivateMariaDb::shared().config_elements("statistics") + "</config></boinc>");
    RunOptions options;
    options.env["BOINC_PROJECT_DIR"] = project.path().string();
    const auto now = [] {
        return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    };
    const double begun = now(), old = std::floor(begun) - 604800;
    user(1, 100, old), host(1, 100, old), team(1, 100, old, 0);
    const std::string program = std::string(SLUICE_BIN) + "/update_stats";
    const auto first = run({program, "-d", "3", "--update_users", "--update_teams"}, options);
    EXPECT_EQ(first.status, 0) << first.err;
    EXPECT_NE(first.err.find("Updated users: 1 averages"), std::string::npos) << first.err;
    EXPECT_NE(first.err.find("Finished"), std::string::npos) << first.err;
    expect("host", 1, 100, old);
    const Averaged faded = read("user", 1);
    EXPECT_GE(faded.time, begun);
    EXPECT_LE(faded.time, now());
    EXPECT_NEAR(faded.average, 100 * std::exp2(-(faded.time - old) / 604800), 1e-6);
    const auto second = run({program}, options);
    EXPECT_EQ(second.status, 0) << second.err;
    EXPECT_NE(second.err.find("Updated users: 0 averages"), std::string::npos) << second.err;
    EXPECT_NE(second.err.find("Updated hosts: 1 averages"), std::string::npos) << second.err;
    EXPECT_EQ(run({program, "--min_age", "-1"}, options).status, 1);
}

// As html/ops/decay_credit_by_app.php wrote them.
TEST_F(UpdateStatsTest, CreditByAppFadesWhereItIsKept) {
    db_.execute(
        Sql("INSERT INTO credit_user (userid, appid, njobs, total, expavg, expavg_time, credit_type) VALUES "
            "(1,1,1,13.5,0.5,1799740800,0), (1,2,1,14.5,0.5,1799740800,0), (2,1,2,26,1,1799740800,0), "
            "(3,1,2,26,1,1799999999,0)"));
    db_.execute(
        Sql("INSERT INTO credit_team (teamid, appid, njobs, total, expavg, expavg_time, credit_type) VALUES "
            "(0,1,1,13.5,0.5,1799740800,0), (7,1,1,13.5,0.05,1799740800,0)"));
    update({.tables = {CreditTable::kUserByApp, CreditTable::kTeamByApp}, .page = 1});
    const auto rows = [&](Sql sql) {
        std::string text;
        for (const auto& row : rows_of(db_, sql, 1)) text += row[0] + " ";
        return text;
    };
    EXPECT_EQ(rows(Sql("SELECT expavg FROM credit_user ORDER BY userid, appid")), "0.371499 0.371499 0.742997 1 ");
    EXPECT_EQ(rows(Sql("SELECT expavg_time FROM credit_user ORDER BY userid, appid")),
              "1800000000 1800000000 1800000000 1799999999 ");
    EXPECT_EQ(rows(Sql("SELECT expavg FROM credit_team ORDER BY teamid")), "0.371499 0.03715 ");
    EXPECT_EQ(rows(Sql("SELECT total FROM credit_team ORDER BY teamid")), "13.5 13.5 ");
    // The program does it where config.xml says that the rows are kept.
    for (const bool kept : {false, true}) {
        TempDir project;
        project.write("config.xml", "<boinc><config>" + PrivateMariaDb::shared().config_elements("statistics") +
                                        (kept ? "<credit_by_app/>" : "") + "</config></boinc>");
        RunOptions options;
        options.env["BOINC_PROJECT_DIR"] = project.path().string();
        db_.execute(Sql("UPDATE credit_user SET expavg=8, expavg_time=UNIX_TIMESTAMP()-604800"));
        ASSERT_EQ(run({std::string(SLUICE_BIN) + "/update_stats"}, options).status, 0);
        EXPECT_EQ(number_of(db_, Sql("SELECT COUNT(*) FROM credit_user WHERE expavg<4.01")), kept ? 4 : 0);
    }
}

}  // namespace
}  // namespace sluice::test
