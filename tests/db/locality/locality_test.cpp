// SPDX-License-Identifier: LGPL-3.0-or-later
// Locality by groups of files, with the real program on MariaDB: what is sent, what it costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/mysql/file_groups.h"
#include "sluice/db/catalogue_store.h"
#include "sluice/db/mysql_rpc_stores.h"
#include "tests/support/database_rows.h"
#include "tests/support/live_scheduler.h"

namespace sluice::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int kJobs = 600;  ///< of the group
constexpr int kOut = 400;   ///< the first of them are out on hosts

class LocalityOnMariaDb : public ::testing::Test {
  protected:
    LocalityOnMariaDb() {
        world.db().execute(Sql("UPDATE app SET locality_scheduling=1"));
        world.add_jobs(20);
        world.start_feeder(20);
        const auto sticky = [](Workunit& w) {
            w.xml_doc = "<file_info>\n<name>big</name>\n<nbytes>1000</nbytes>\n<sticky/>\n</file_info>\n" + w.xml_doc;
        };
        const std::vector<Id> results = world.add_jobs(kJobs, 1, sticky);
        prepare_file_groups(world.db());
        world.db().execute(Sql("INSERT INTO sluice_file_group (name, idle_since) VALUES ('big',0)"));
        world.db().execute(
            Sql("INSERT INTO sluice_file_group_wu SELECT 1, id FROM workunit WHERE xml_doc LIKE '%<sticky/>%'"));
        Sql out("UPDATE result SET server_state=4 WHERE id BETWEEN ");
        world.db().execute(out << results.front() << " AND " << results[kOut - 1]);
        world.db().query(Sql("ANALYZE TABLE result, workunit, sluice_file_group_wu"));
        publish();
    }
    void publish() { world.array().publish_tables(make_catalogue_store(world.db())->load_tables()); }
    RequestText from(Id host, const std::string& file) {
        RequestText r;
        r.hostid = host;
        r.seqno = 1;
        r.work_seconds = 15;  // two jobs
        if (!file.empty())
            r.more = "<file_info><name>" + file + "</name><nbytes>1000</nbytes><status>1</status><sticky/></file_info>";
        return r;
    }
    std::int64_t local_jobs_on(Id host) {
        Sql sql(
            "SELECT COUNT(*) FROM result r JOIN sluice_file_group_wu j ON j.workunitid=r.workunitid WHERE "
            "r.server_state=4 AND r.hostid=");
        return world.number(sql << host);
    }
    SchedulerWorld world{"<compat_level>1</compat_level><resend_lost_results>0</resend_lost_results>"};
};

TEST_F(LocalityOnMariaDb, TheProgramSendsThemForOneStatementMore) {
    LiveScheduler live(world);
    const Id plain = world.add_host(), local = world.add_host();
    for (int i = 0; i < 4; ++i) live.post(from(world.add_host(), ""));  // a connection prepares a statement once
    const auto cost_of = [&](const RequestText& request) {
        const std::int64_t before = world.questions(1);
        EXPECT_THAT(live.post(request).result_names(), SizeIs(2)) << world.log();
        return world.questions(1) - before - 1;
    };
    const std::int64_t without = cost_of(from(plain, "")), with = cost_of(from(local, "big"));
    EXPECT_EQ(local_jobs_on(plain), 0);
    EXPECT_EQ(local_jobs_on(local), 2);
    EXPECT_EQ(with, without + 1);
    const Id stranger = world.add_host();
    EXPECT_EQ(cost_of(from(stranger, "small")), without) << "a file of no group";
}

TEST_F(LocalityOnMariaDb, TwoHostsNeverGetTheSameJob) {
    world.db().execute(
        Sql("UPDATE result SET server_state=4 WHERE server_state=2 AND id NOT IN (SELECT * FROM (SELECT "
            "MAX(id) FROM result) last)"));
    world.db().execute(Sql("DELETE FROM sluice_file_group_wu ORDER BY workunitid LIMIT 580"));
    publish();
    const Id one = world.add_host(), other = world.add_host();
    const auto a = world.start(from(one, "big")), b = world.start(from(other, "big"));
    a->wait(), b->wait();
    EXPECT_EQ(local_jobs_on(one) + local_jobs_on(other), 1);
}

TEST_F(LocalityOnMariaDb, FilesOfGroupOverAreToBeDeleted) {
    world.db().execute(Sql("DELETE FROM sluice_file_group_wu"));
    world.db().execute(Sql("UPDATE sluice_file_group SET idle_since=UNIX_TIMESTAMP()-3601"));
    publish();
    EXPECT_TRUE(world.send(from(world.add_host(), "big")).has("<delete_file_info>big</delete_file_info>"));
    EXPECT_FALSE(world.send(from(world.add_host(), "other")).has("<delete_file_info>"));
}

/// Of a group whose first 400 workunits are out: rows that the server really reads.
TEST_F(LocalityOnMariaDb, AGroupsSizeDoesNotMatter) {
    MysqlRpcStores stores(world.db());
    const auto reads = [&] {
        return number_of(world.db(), Sql("SELECT SUM(variable_value) FROM information_schema.session_status WHERE "
                                         "variable_name LIKE 'HANDLER_READ%'"));
    };
    const Id first = world.number(Sql("SELECT MIN(workunitid) FROM sluice_file_group_wu"));
    const std::int64_t idle = [&] {
        const std::int64_t before = reads();
        return reads() - before;
    }();
    for (const auto& [from, found] : {std::pair<Id, std::size_t>{first, 0}, {first + kOut, 32}}) {
        const std::int64_t before = reads();
        EXPECT_EQ(stores.stores().results.jobs_of_groups({{{1, from}}, 100, 32}).size(), found);
        EXPECT_LE(reads() - before - idle, 2 * 100 * 6)
            << "from " << from << ": 100 before and 100 behind of group, union, workunit, result";
    }
}

TEST_F(LocalityOnMariaDb, ItsPlanUsesIndexesOnly) {
    world.db().execute(Sql("SET GLOBAL log_output='TABLE'"));
    world.db().execute(Sql("TRUNCATE TABLE mysql.general_log"));
    world.db().execute(Sql("SET GLOBAL general_log=1"));
    const Id first = world.number(Sql("SELECT MIN(workunitid) FROM sluice_file_group_wu"));
    MysqlRpcStores(world.db()).stores().results.jobs_of_groups({{{1, first + kOut}, {2, 1}}, 100, 32});
    world.db().execute(Sql("SET GLOBAL general_log=0"));
    const auto asked = rows_of(world.db(),
                               Sql("SELECT argument FROM mysql.general_log WHERE argument LIKE "
                                   "'SELECT r.id%sluice_file_group_wu%'"),
                               1);
    ASSERT_THAT(asked, SizeIs(1));
    std::vector<std::string> client = PrivateMariaDb::shared().client_command();
    client.insert(client.end(), {"-N", rows_of(world.db(), Sql("SELECT DATABASE()"), 1).at(0).at(0)});
    const RunResult plan = run(client, {.stdin_text = "EXPLAIN " + asked[0][0]});
    EXPECT_THAT(plan.out, HasSubstr("w\teq_ref\tPRIMARY")) << plan.err;
    EXPECT_THAT(plan.out, HasSubstr("r\tref\tres_wuid"));
    EXPECT_THAT(plan.out, Not(HasSubstr("filesort")));
    EXPECT_THAT(plan.out, Not(HasSubstr("sluice_file_group_wu\tALL")));
    EXPECT_THAT(plan.out, Not(HasSubstr("sluice_file_group_wu\tindex")));
}

}  // namespace
}  // namespace sluice::test
