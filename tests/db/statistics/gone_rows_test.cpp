// SPDX-License-Identifier: LGPL-3.0-or-later
// Rows of our own tables: those of what is gone go, and none that something live needs, whenever update_stats is
// killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <future>
#include <limits>

#include "daemons/statistics/update_stats.h"
#include "sluice/db/account_store.h"
#include "sluice/db/batch_plan_store.h"
#include "sluice/db/batch_store.h"
#include "sluice/db/mysql_rpc_stores.h"
#include "sluice/db/share_store.h"
#include "tests/db/batch/killed_program.h"
#include "tests/support/database_rows.h"
#include "tests/support/fake_clock.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kDay = 86400;

class GoneRows : public testing::Test {
  protected:
    GoneRows() : db_(settings()) {
        truncate_all_tables(db_);
        project_.write("config.xml",
                       "<boinc><config>" + PrivateMariaDb::shared().config_elements("gone_rows") + "</config></boinc>");
    }
    static DbSettings settings() {
        static const DbSettings made = [] {
            DbSettings its = PrivateMariaDb::shared().create_project_database("gone_rows");
            Database db(its);
            make_own_tables(db);
            its.read_uncommitted = true;  // as the program has it
            return its;
        }();
        return made;
    }
    /// By the stores that fill them.
    static void make_own_tables(Database& db) {
        prepare_host_attempts(db);
        make_host_ltt_store(db)->write({}, {});
        make_gang_store(db)->prepare();
        make_gang_lease_store(db)->prepare();
        make_batch_accel_store(db)->prepare();
        make_batch_plan_store(db)->prepare();
        make_share_store(db)->prepare();
    }
    void sql(SqlLiteral text) { db_.execute(Sql(text)); }
    /// `row`: what stands between the brackets of VALUES.
    void insert(SqlLiteral table, const std::vector<Sql>& rows) {
        Sql all("INSERT INTO ");
        all << table << " VALUES ";
        for (const Sql& row : rows) (&row == rows.data() ? all : all << ",") << "(" << row << ")";
        db_.execute(all);
    }
    void hosts_and_users() {
        for (const Id id : {1, 2}) rows_.hosts[id].id = id, rows_.hosts[id].userid = 1;
        rows_.users[1].id = 1, rows_.users[1].authenticator = "a";
    }
    void batches_and_jobs() {
        int state = 0;
        for (const Id id : {10, 11, 12, 13, 14}) {
            rows_.batches[id].id = id, rows_.batches[id].user_id = 1;
            rows_.batches[id].state = static_cast<BatchState>(state++);
        }
        rows_.batches[17].id = 17, rows_.batches[17].state = BatchState::kComplete;
        for (const auto& [id, batch] : {std::pair<Id, Id>{100, 16}, {102, 17}})
            rows_.workunits[id].id = id, rows_.workunits[id].batch = batch,
            rows_.workunits[id].name = std::to_string(id);
        rows_.results[1000].id = 1000, rows_.results[1000].workunitid = 100, rows_.results[1000].name = "r";
    }
    /// Rows of what lives and of what is gone, in each table.
    void fill() {
        truncate_all_tables(db_);
        rows_ = {};
        hosts_and_users(), batches_and_jobs();
        store_rows(db_, rows_);
        sql("INSERT INTO user_submit (user_id, quota, logical_start_time, submit_all, manage_all, max_jobs_in_progress) "
            "VALUES (2,1,0,0,0,0)");
        const std::int64_t now = ::time(nullptr), today = now / kDay, account = std::int64_t{1} << 62;
        Sql attempts("INSERT INTO sluice_host_rpc (host_id, attempt, on_since) VALUES (1,5,0),(3,5,0),(-5,7,");
        attempts << now - 2 * kDay << "),(-6,7," << now << "),(-7,7,0),(" << -account - 1 << "," << today << ",0),("
                 << -account - 2 << "," << today - 5 << ",0)";
        db_.execute(attempts);
        sql("INSERT INTO sluice_host_ltt VALUES (1,7,1,0,0),(3,7,1,0,0),(3,8,1,0,0)");
        sql("INSERT INTO sluice_gang_host VALUES (1,0,0),(3,0,0)");
        for (int batch = 10; batch <= 17; ++batch) {
            Sql gang("INSERT INTO sluice_gang VALUES ("), job("INSERT INTO sluice_gang_job VALUES (");
            Sql wait("INSERT INTO sluice_gang_wait VALUES (");
            db_.execute(gang << batch << ",0,2,0)");
            db_.execute(job << batch << ",0,0,'a'),(" << batch << ",0,1,'b')");
            db_.execute(wait << batch << ",0,1,1,1,1)");
        }
        sql("INSERT INTO sluice_accel_job VALUES (100,16,1,0,0,0,0),(101,16,1,0,0,0,0)");
        sql("INSERT INTO sluice_accel_result VALUES (100,1,0),(101,2,0)");
        sql("INSERT INTO sluice_plan_copy VALUES (100,16,1,0),(101,16,2,0)");
        sql("INSERT INTO sluice_plan_job VALUES (1000,16,0),(1001,16,0)");
        Sql heard("INSERT INTO sluice_plan_submission VALUES (15,");
        db_.execute(heard << now - 29 * kDay << "),(14," << now - 31 * kDay << ")");
        sql("INSERT INTO sluice_share_measured VALUES (0,1),(10,1),(11,1),(12,1),(13,1),(14,1),(15,1),(18,1)");
        sql("INSERT INTO sluice_share_batch VALUES (11,1,1,1,1,1,1,0,0),(12,1,1,1,1,1,2,1,0),(14,1,1,1,1,1,3,1,0),"
            "(15,1,1,1,1,1,4,1,0),(18,1,1,1,1,1,5,0,0)");
        sql("INSERT INTO sluice_share_lst VALUES (1,0),(2,0),(3,0)");
        sql("INSERT INTO sluice_share_user VALUES (1,0),(2,0),(3,0),(4,5)");
        Sql days("INSERT INTO sluice_share_day VALUES (");
        db_.execute(days << today << ",3,1),(" << today - 399 << ",3,1),(" << today - 402 << ",1,1)");
        sql("INSERT INTO sluice_marks VALUES ('stream 0',1),('stream 10',1),('stream 14',1),('stream 15',1),"
            "('batch_floor',1),('share_clock',1)");
    }
    std::string keys(SqlLiteral columns, SqlLiteral table) {
        Sql text("SELECT ");
        std::string all;
        for (Rows r = db_.query(text << columns << " FROM " << table << " ORDER BY 1"); r.next();)
            all += r.text(0) + " ";
        return all;
    }
    void expect_only_live_rows(const std::string& when) {
        const std::string accounts = std::to_string(-(std::int64_t{1} << 62) - 1);
        EXPECT_EQ(keys("host_id", "sluice_host_rpc"), accounts + " -6 1 ") << when;
        EXPECT_EQ(keys("host_id", "sluice_host_ltt"), "1 ") << when;
        EXPECT_EQ(keys("host_id", "sluice_gang_host"), "1 ") << when;
        for (const SqlLiteral table : {SqlLiteral("sluice_gang"), SqlLiteral("sluice_gang_wait")})
            EXPECT_EQ(keys("batch_id", table), "10 11 16 17 ") << table.text << when;
        EXPECT_EQ(keys("batch_id", "sluice_gang_job"), "10 10 11 11 16 16 17 17 ") << when;
        for (const SqlLiteral table :
             {SqlLiteral("sluice_accel_job"), SqlLiteral("sluice_accel_result"), SqlLiteral("sluice_plan_copy")})
            EXPECT_EQ(keys("workunit_id", table), "100 ") << table.text << when;
        EXPECT_EQ(keys("result_id", "sluice_plan_job"), "1000 ") << when;
        EXPECT_EQ(keys("batch_id", "sluice_plan_submission"), "15 ") << when;
        EXPECT_EQ(keys("batch_id", "sluice_share_measured"), "0 10 11 12 13 18 ") << when;
        EXPECT_EQ(keys("batch_id", "sluice_share_batch"), "11 12 18 ") << when;
        EXPECT_EQ(keys("user_id", "sluice_share_lst"), "1 2 ") << when;
        EXPECT_EQ(keys("user_id", "sluice_share_user"), "1 2 4 ") << when;
        EXPECT_EQ(number_of(db_, Sql("SELECT COUNT(*) FROM sluice_share_day")), 2) << when;
        EXPECT_EQ(keys("name", "sluice_marks"), "batch_floor share_clock stream 0 stream 10 ") << when;
    }
    std::vector<std::string> words(std::vector<std::string> more = {}) const {
        std::vector<std::string> all{std::string(SLUICE_BIN) + "/update_stats", "--remove_gone"};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    RunResult remove_gone(const std::vector<std::string>& more = {}) {
        RunOptions options;
        options.env["BOINC_PROJECT_DIR"] = project_.path().string();
        return run(words(more), options);
    }

    TempDir project_;
    FakeDb rows_;
    Database db_;
};

TEST_F(GoneRows, OnlyWhatIsGoneGoesDespiteKills) {
    const int killed = killed_at_each_statement(
        words(), project_.path(), [&] { fill(); }, [&] { ASSERT_EQ(remove_gone().status, 0); },
        [&](const std::string& when) { expect_only_live_rows(when); });
    EXPECT_GE(killed, 60);
}

TEST_F(GoneRows, HandledMessagesGoAtLevel1AfterAMonth) {
    const auto fill_messages = [&] {
        for (const SqlLiteral table : {SqlLiteral("msg_from_host"), SqlLiteral("msg_to_host")}) {
            Sql old("DELETE FROM "), rows("INSERT INTO ");
            db_.execute(old << table);
            const std::int64_t now = ::time(nullptr);
            db_.execute(rows << table << " (id, create_time, hostid, variety, handled, xml) VALUES (1,"
                             << now - 31 * kDay << ",1,'v',1,''),(2," << now - 31 * kDay << ",1,'v',0,''),(3,"
                             << now - 29 * kDay << ",1,'v',1,'')");
        }
    };
    const auto left = [&] { return keys("id", "msg_from_host") + "| " + keys("id", "msg_to_host"); };
    fill_messages();
    EXPECT_EQ(remove_gone().status, 0);
    EXPECT_EQ(left(), "1 2 3 | 1 2 3 ") << "level 0: as upstream";
    EXPECT_EQ(remove_gone({"--message_days", "30"}).status, 0);
    EXPECT_EQ(left(), "2 3 | 2 3 ");
    fill_messages();
    project_.write("config.xml", "<boinc><config>" + PrivateMariaDb::shared().config_elements("gone_rows") +
                                     "<compat_level>1</compat_level></config></boinc>");
    EXPECT_EQ(remove_gone({"--message_days", "0"}).status, 0);
    EXPECT_EQ(left(), "1 2 3 | 1 2 3 ");
    EXPECT_EQ(remove_gone().status, 0);
    EXPECT_EQ(left(), "2 3 | 2 3 ");
    EXPECT_EQ(remove_gone({"--message_days", "-1"}).status, 1);
}

TEST_F(GoneRows, ADryRunCountsAndRemovesNothing) {
    fill();
    const RunResult r = remove_gone({"--dry_run"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.err, HasSubstr("dry run, nothing was written: Removed "));
    EXPECT_EQ(keys("host_id", "sluice_gang_host"), "1 3 ");
    EXPECT_EQ(keys("batch_id", "sluice_gang"), "10 11 12 13 14 15 16 17 ");
}

TEST_F(GoneRows, AThousandRowsAStatement) {
    fill();
    std::vector<Sql> jobs;
    for (int i = 0; i < 2500; ++i) jobs.push_back(std::move(Sql() << 14 << "," << i + 1 << ",0,'x'"));
    insert("sluice_gang_job", jobs);
    const auto store = make_gone_rows_store(db_, false);
    std::vector<std::int64_t> removed;
    for (int kind = 0; kind < store->kinds(); ++kind) {
        if (store->table(kind) != "sluice_gang_job") continue;
        for (GoneRowsStore::Page page{0, false, 0}; !page.end;) {
            page = store->remove(kind, page.last, 1e9, 5);
            removed.push_back(page.rows);
        }
    }
    // The first five are 10 to 14, then those that are left and 15; the last page is empty of what is gone.
    EXPECT_EQ(removed, (std::vector<std::int64_t>{1000, 1000, 508, 0}));
    EXPECT_EQ(keys("batch_id", "sluice_gang_job"), "10 10 11 11 16 16 17 17 ");
}

TEST_F(GoneRows, ARemovalTakenBackCostsNoRow) {
    fill();
    Database other(settings());
    other.execute(Sql("BEGIN"));
    other.execute(Sql("DELETE FROM host WHERE id=1"));
    auto done = std::async(std::launch::async, [&] { return remove_gone(); });
    EXPECT_TRUE(eventually([&] {
        return number_of(
                   db_,
                   Sql("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%host%LOCK IN SHARE MODE' AND ID<>CONNECTION_ID()")) >
               0;
    })) << "it waits for who removes the host";
    other.execute(Sql("ROLLBACK"));
    const RunResult r = done.get();
    EXPECT_EQ(r.status, 0) << r.err;
    expect_only_live_rows("");
}

// It waits for nobody after a minute; the time is in on_since.
TEST_F(GoneRows, ARegistrationSaysWhenItWas) {
    const MachineQuery machine{2, "", "d", "1.2.3.4", "Linux", "m", 16e9, true};
    StoredHost host;
    host.userid = 2;
    for (const std::int64_t time : {1700000000, 1800000000}) {  // the same machine, after its host was deleted
        host.create_time = time;
        EXPECT_GT(MysqlRpcStores(db_).stores().accounts.insert_host(host, &machine), 0);
        sql("DELETE FROM host");
        EXPECT_EQ(number_of(db_, Sql("SELECT on_since FROM sluice_host_rpc WHERE host_id<0")), time);
    }
}

TEST_F(GoneRows, WithoutOurTablesNothingIsToBeDone) {
    static const DbSettings bare = PrivateMariaDb::shared().create_project_database("no_own_tables");
    Database db(bare);
    const auto statistics = make_statistics_store(db);
    const auto gone = make_gone_rows_store(db, false);
    FakeClock clock(1e9);
    EXPECT_EQ(UpdateStats(*statistics, {.gone_rows = gone.get()}, clock).turn().result, TurnResult::kFinished);
    EXPECT_EQ(number_of(db, Sql("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND "
                                "TABLE_NAME LIKE 'sluice%'")),
              0);
}

}  // namespace
}  // namespace sluice::test
