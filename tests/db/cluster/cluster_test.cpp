// SPDX-License-Identifier: LGPL-3.0-or-later
// A project on three machines, each with a node of a Galera cluster: what the guards of one database promise holds on
// three that certify each other's commits.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <span>
#include <thread>
#include <utility>

#include "sluice/db/mysql_rpc_stores.h"
#include "tests/db/cluster/cluster_world.h"
#include "tests/support/free_port.h"
#include "tests/support/sql_proxy.h"

namespace sluice::test {
namespace {

TEST(Cluster, ThreeNodesCountInStepsOfThree) {
    for (int i = 0; i < GaleraCluster::kNodes; ++i) {
        EXPECT_EQ(shared_cluster().status(i, "wsrep_cluster_size"), "3");
        Database db(shared_cluster().node(i).settings());
        EXPECT_EQ(number_of(db, Sql("SELECT @@auto_increment_increment")), 3);
    }
}

TEST(Cluster, JobsAreHandedOutFromAllNodesTogether) {
    ClusterWorld world("<one_result_per_user_per_wu>1</one_result_per_user_per_wu>");
    world.add_jobs(150, 4);
    world.start_all();
    world.hand_out_all(3);
    EXPECT_EQ(world.handed_out().size(), 600u) << world.logs();
    EXPECT_EQ(world.number(2, Sql("SELECT COUNT(*) FROM result WHERE server_state=4")), 600);
    world.expect_nothing_lost_or_doubled();
    RecordProperty("lost_claims", world.lost_claims());
}

/// <db_host>A,B,C</db_host>.
class Hosts : public testing::Test {
  protected:
    DbSettings at(const std::string& hosts) {
        DbSettings settings = cluster.node(0).settings("hosts");
        settings.host = hosts;
        return settings;
    }
    static std::string node_of(Database& db) {
        Rows r = db.query(Sql("SELECT @@wsrep_node_name FROM t"));
        return r.next() ? r.text(0) : "";
    }
    GaleraCluster& cluster = shared_cluster();
    Database admin{cluster.node(0).settings()};
    const int nobody = free_port();

    void SetUp() override {
        admin.execute(Sql("CREATE DATABASE IF NOT EXISTS hosts"));
        admin.execute(Sql("CREATE OR REPLACE TABLE hosts.t (id int NOT NULL PRIMARY KEY, n int NOT NULL)"));
        admin.execute(Sql("INSERT INTO hosts.t VALUES (1,0)"));
        for (int i = 1; i < GaleraCluster::kNodes; ++i) {
            Database node(cluster.node(i).settings());
            node.execute(Sql("SET SESSION wsrep_sync_wait=1"));
            node.query(Sql("SELECT * FROM hosts.t"));
        }
    }
};

TEST_F(Hosts, OneThatIsAwayIsLeftForNext) {
    const std::string away = "127.0.0.1:" + std::to_string(nobody);
    Database db(at(away + "," + cluster.address(1)));
    EXPECT_EQ(node_of(db), "node1");
    Database none(at(away + "," + away));
    try {
        none.connect();
        FAIL();
    } catch (const DbError& e) {
        EXPECT_EQ(e.kind(), DbError::Kind::kCantConnect);
        EXPECT_NE(std::string(e.what()).find("no server of <db_host> can be used: can't reach"), std::string::npos);
    }
}

TEST_F(Hosts, OneNotReadyIsLeftForNext) {
    Database first(at(cluster.hosts(0))), second(at(cluster.hosts(0)));
    EXPECT_EQ(node_of(first), "node0");
    second.connect();
    admin.execute(Sql("SET GLOBAL wsrep_reject_queries=ALL"));  // as a node says that has lost the others
    EXPECT_EQ(node_of(first), "node1");
    int tries = 0;
    second.transaction([&] {
        ++tries;
        second.execute(Sql("UPDATE t SET n=n+1"));
    });
    EXPECT_EQ(tries, 1) << "it had not begun";
    EXPECT_EQ(second.execute(Sql("UPDATE t SET n=n+1")), 1);
    admin.execute(Sql("SET GLOBAL wsrep_reject_queries=NONE"));
    EXPECT_EQ(number_of(second, Sql("SELECT n FROM t")), 2);
    EXPECT_EQ(node_of(second), "node1") << "it stays where it is";
}

TEST_F(Hosts, NodeThatKnowsIsAskedAboutCommit) {
    std::atomic<bool> over{false};
    SqlProxy proxy(cluster.node(0).socket(), [&](const std::string& text, int) {
        if (over) return SqlProxy::Action::kCutBefore;  // that node can't be reached any more
        over = text.starts_with("COMMIT");
        return over ? SqlProxy::Action::kCutAfter : SqlProxy::Action::kPass;
    });
    ::setenv("MYSQL_UNIX_PORT", proxy.socket().c_str(), 1);
    Database db(at("localhost," + cluster.address(1)));
    Database behind(cluster.node(1).settings());
    std::atomic<bool> answered{false};
    std::thread release;
    db.transaction(
        [&] {
            db.execute(Sql("UPDATE t SET n=7"));
            behind.execute(Sql("FLUSH TABLES WITH READ LOCK"));  // it gets nothing new, for a while
        },
        [&] {
            release = std::thread([&] {
                eventually([&] {  // until the question waits there
                    return answered ||
                           number_of(behind, Sql("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE "
                                                 "'SELECT n FROM t%'")) > 0;
                });
                behind.execute(Sql("UNLOCK TABLES"));
            });
            const bool there = number_of(db, Sql("SELECT n FROM t")) == 7;
            answered = true;
            release.join();
            return there;
        });
    EXPECT_TRUE(answered);
    EXPECT_EQ(number_of(db, Sql("SELECT n FROM t")), 7);
    EXPECT_EQ(node_of(db), "node1");
}

/// Locks of rows hold on one node alone. What one node decides under them the other's commit must overthrow.
class TwoNodes : public testing::Test {
  protected:
    /// Instance `result` of workunit 1 goes to `host` unless its user has one; true if it went.
    bool send(Database& db, Id result, Id host, const std::function<void()>& before_commit = {}) {
        struct Refused {};
        MysqlRpcStores all(db);
        const RpcStores stores = all.stores();
        const auto write_all = [&] {
            WorkunitTouch touch;
            touch.id = 1, touch.transition_time = kNever - 1;
            stores.results.touch_workunits(std::span(&touch, 1));
            SendBatch batch;
            batch.hostid = host;
            batch.userid = ClusterWorld::user_of(host);
            batch.now = 1000;
            batch.one_per_user = true;
            SendWrite& write = batch.results.emplace_back();
            write.id = result, write.workunit_id = 1, write.report_deadline = kNever - 1, write.app_version_id = 1;
            stores.results.send(batch, [](const std::vector<Id>&) { throw Refused{}; });
            db.query(Sql("SELECT 1"));  // what waits is done before
            ++attempts_;
            if (before_commit && attempts_ == 1) before_commit();
        };
        try {
            stores.unit_of_work.run(write_all, {});
            return true;
        } catch (const Refused&) {
            return false;
        }
    }
    int attempts_ = 0;
    ClusterWorld world;
    Database& here = world.machine(0).db();
    Database& there = world.machine(1).db();
};

TEST_F(TwoNodes, OneInstancePerUserHolds) {
    world.add_jobs(1, 2);
    here.execute(Sql("UPDATE workunit SET transition_time=500"));  // due: no send makes it later
    world.number(1, Sql("SELECT 1"));
    bool second = false;
    const Id host = 1, other_host_of_the_user = 1 + ClusterWorld::kUsers;
    const bool first = send(here, 1, host, [&] { second = send(there, 2, other_host_of_the_user); });
    EXPECT_TRUE(second);
    EXPECT_FALSE(first) << "certified against the other node's commit, and found taken when it was tried again";
    EXPECT_EQ(world.number(2, Sql("SELECT COUNT(*) FROM result WHERE server_state=4")), 1);
}

TEST_F(TwoNodes, TransitionsSeeReportsOfOtherNodes) {
    world.add_jobs(1, 2);
    const std::int64_t now = 1000;
    here.execute(Sql("UPDATE workunit SET transition_time=1000"));  // another result of it was reported in this second
    world.number(1, Sql("SELECT 1"));
    int seen = 0;
    // The pass of a transitioner: under locks, the report comes in after it has read and before it commits.
    bool reported = false;
    there.transaction([&] {
        seen = static_cast<int>(
            number_of(there, Sql("SELECT (SELECT COUNT(*) FROM result WHERE workunitid=w.id AND server_state=5) FROM "
                                 "workunit w WHERE id=1 AND transition_time<=1000 FOR UPDATE")));
        if (!std::exchange(reported, true)) {
            MysqlRpcStores all(here);
            here.transaction([&] {
                WorkunitTouch touch;
                touch.id = 1, touch.transition_time = now, touch.at_most = false;
                all.stores().results.touch_workunits(std::span(&touch, 1));
                here.execute(Sql("UPDATE result SET server_state=5,outcome=1 WHERE id=1"));
            });
        }
        there.execute(Sql("UPDATE workunit SET transition_time=2000000000 WHERE id=1"));
    });
    EXPECT_EQ(seen, 1) << "the transition was decided again, with the report";
}

}  // namespace
}  // namespace sluice::test
