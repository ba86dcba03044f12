// SPDX-License-Identifier: LGPL-3.0-or-later
// A node that lives on and has lost the others: it says 1047 to everything, and what it was about to commit may have
// reached them or not. With the list of <db_host>, and behind HAProxy with the configuration that is shipped.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "sluice/base/files.h"
#include "tests/db/cluster/cluster_world.h"
#include "tests/support/free_port.h"
#include "tests/support/paths.h"

namespace sluice::test {
namespace {

class Partition : public testing::Test {
  protected:
    Partition() {
        admin.execute(Sql("CREATE DATABASE IF NOT EXISTS parted"));
        admin.execute(Sql("CREATE OR REPLACE TABLE parted.t (id int NOT NULL PRIMARY KEY, n int NOT NULL)"));
        admin.execute(Sql("INSERT INTO parted.t VALUES (1,0)"));
        for (int i = 0; i < GaleraCluster::kNodes; ++i) number(i);
    }
    ~Partition() override { join_again(); }

    /// Node 0 hears nobody and is heard by nobody any more.
    void cut_off() {
        admin.execute(Sql("SET GLOBAL wsrep_provider_options='gmcast.isolate=1'"));
        cut_off_ = true;
    }
    void join_again() {
        if (!std::exchange(cut_off_, false)) return;
        admin.execute(Sql("SET GLOBAL wsrep_provider_options='gmcast.isolate=0'"));
        EXPECT_TRUE(
            eventually([&] { return cluster.synced(0) && cluster.status(0, "wsrep_cluster_size") == "3"; }, 120));
    }
    bool has_noticed() { return cluster.status(0, "wsrep_ready") == "OFF"; }
    DbSettings at(const std::string& hosts) {
        DbSettings settings = cluster.node(0).settings("parted");
        settings.host = hosts;
        return settings;
    }
    static std::string node_of(Database& db) {
        Rows r = db.query(Sql("SELECT @@wsrep_node_name FROM t"));
        return r.next() ? r.text(0) : "";
    }
    /// n, as that node has it now that it knows all that is committed. Until then it may not even know of the database.
    std::int64_t number(int i) {
        Database db(cluster.node(i).settings());
        db.execute(Sql("SET SESSION wsrep_sync_wait=1"));
        return number_of(db, Sql("SELECT n FROM parted.t"));
    }

    GaleraCluster& cluster = shared_cluster();
    Database admin{cluster.node(0).settings()};

  private:
    bool cut_off_ = false;
};

TEST_F(Partition, CommitOnNodeCutOffTakesPlaceOnce) {
    Database db(at(cluster.hosts(0)));
    EXPECT_EQ(node_of(db), "node0");
    int tries = 0, asked = 0;
    db.transaction(
        [&] {
            ++tries;
            db.execute(Sql("UPDATE t SET n=n+1"));
            if (tries == 1) cut_off();
        },
        [&] {
            ++asked;
            return number_of(db, Sql("SELECT n FROM t FOR UPDATE")) > 0;
        });
    EXPECT_GE(asked, 1);
    EXPECT_EQ(node_of(db), "node1");
    EXPECT_EQ(number(1), 1);
    join_again();
    for (int i = 0; i < GaleraCluster::kNodes; ++i) EXPECT_EQ(number(i), 1) << i;
}

TEST_F(Partition, ADaemonGoesOnWithTheNextNode) {
    Database db(at(cluster.hosts(0)));
    EXPECT_EQ(node_of(db), "node0");
    cut_off();
    EXPECT_TRUE(eventually([&] { return has_noticed(); }, 60));
    int tries = 0;
    db.transaction([&] {
        ++tries;
        db.execute(Sql("UPDATE t SET n=n+1"));
    });
    EXPECT_EQ(tries, 1);
    EXPECT_EQ(node_of(db), "node1");
}

/// The file that is shipped, with this cluster's addresses in it.
class HaProxy : public Partition {
  protected:
    HaProxy() {
        admin.execute(Sql("CREATE USER IF NOT EXISTS haproxy@'127.0.0.1'"));
        std::string text = read_file(source_dir() + "/config/samples/galera/haproxy.cfg").value_or("");
        const auto put = [&](const std::string& from, const std::string& to) {
            const auto found = text.rfind(from);
            if (found == std::string::npos) throw std::runtime_error("haproxy.cfg has no " + from);
            text.replace(found, from.size(), to);
        };
        put("127.0.0.1:3307", address);
        for (int i = 0; i < GaleraCluster::kNodes; ++i) put(fmt::format("10.0.0.{}:3306", i + 1), cluster.address(i));
        proxy = std::make_unique<Subprocess>(
            std::vector<std::string>{"haproxy", "-db", "-f", folder.write("haproxy.cfg", text).string()});
    }
    std::string node_behind(Database& db) {
        try {
            return node_of(db);
        } catch (const DbError&) {
            return "";
        }
    }
    bool leads_to(Database& db, const std::string& node) {
        return eventually([&] { return node_behind(db) == node; }, 60);
    }
    TempDir folder;
    const std::string address = "127.0.0.1:" + std::to_string(free_port());
    std::unique_ptr<Subprocess> proxy;
};

TEST_F(HaProxy, AnIsolatedNodeIsLeftAndComesBack) {
    Database db(at(address));
    ASSERT_TRUE(leads_to(db, "node0")) << proxy->err();
    cut_off();
    EXPECT_TRUE(leads_to(db, "node1")) << proxy->err();
    EXPECT_EQ(db.execute(Sql("UPDATE t SET n=n+1")), 1);
    join_again();
    EXPECT_EQ(number(0), 1);
    EXPECT_TRUE(eventually(
        [&] {
            Database fresh(at(address));
            return node_behind(fresh) == "node0";
        },
        60))
        << proxy->err();
}

}  // namespace
}  // namespace sluice::test
