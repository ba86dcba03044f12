// SPDX-License-Identifier: LGPL-3.0-or-later
// size_regulator as a program where users have shares: whose INACTIVE jobs become sendable.
#include "sluice/db/size_store.h"

#include "db/mysql/inactive_stock.h"
#include "tests/db/batch/batch_fixture.h"

namespace sluice::test {
namespace {

class ShareReleases : public BatchFixture {
  protected:
    ShareReleases() {
        config("<share_rule>settled</share_rule>");
        app(1, 2);
        for (const Id id : {Id{1}, Id{2}}) {
            User& u = world.users[id];
            u.id = id;
            u.name = id == 1 ? "Ada" : "Bob";
            u.authenticator = "key" + std::to_string(id);
            u.email_addr = u.authenticator + "@example.org";
        }
        AppVersion& v = world.versions[1];
        v.id = v.appid = 1;
        v.expavg_credit = 200e3;
        v.expavg_time = static_cast<double>(now);
        store();
    }
    void submit(Id id, int jobs) {
        FakeDb fresh;
        (fresh.batches[id] = batch(id)).user_id = id;
        for (int i = 0; i < jobs; ++i) {
            Workunit& wu = job(id);
            wu.rsc_fpops_est = 1e12;
            wu.size_class = 1;
            Result& r = instance(wu, ServerState::kInactive);
            r.size_class = 1;
            fresh.workunits[wu.id] = wu;
            fresh.results[r.id] = r;
        }
        store_rows(db, fresh);
    }
    void quotas() {
        db.execute(
            Sql("INSERT INTO user_submit (user_id, quota, logical_start_time, submit_all, manage_all, "
                "max_jobs_in_progress) VALUES (1,1,0,1,0,0), (2,1,0,1,0,0)"));
    }
    std::int64_t in_state(Id batch, int state) {
        Sql sql("SELECT COUNT(*) FROM result WHERE server_state=");
        return number(sql << state << " AND batch=" << batch);
    }
    void send_all() { db.execute(Sql("UPDATE result SET server_state=4 WHERE server_state=2")); }
    std::vector<std::string> regulator(const std::vector<std::string>& more = {}) {
        std::vector<std::string> all{"size_regulator", "--app_name", "app1", "--lo", "20", "--hi", "40"};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
};

/// Whoever comes later is released in turn, not when the other's stock is at its end; and nobody's waits until the
/// other's is.
TEST_F(ShareReleases, ABatchDoesNotWaitBehindAnothersStock) {
    submit(1, 5000);
    quotas();
    run_ok({"batch_shares", "--one_pass"});
    Subprocess daemon = start_program(regulator({"--sleep_time", "0.05"}));
    ASSERT_TRUE(eventually([&] { return in_state(1, 2) == 40; }));
    submit(2, 50);
    run_ok({"batch_shares", "--one_pass"});
    db.execute(Sql("UPDATE result SET server_state=4 WHERE server_state=2 LIMIT 10"));
    EXPECT_TRUE(eventually([&] { return in_state(2, 2) >= 9; }))
        << "what room there is, though 30 are above the low mark";
    for (int refill = 0; refill < 2; ++refill) {
        send_all();
        ASSERT_TRUE(eventually([&] { return in_state(1, 2) + in_state(2, 2) == 40; }));
    }
    EXPECT_EQ(in_state(2, 1), 0) << "none of the 50 is INACTIVE any more";
    EXPECT_EQ(in_state(1, 2) + in_state(1, 4), 40 + 10 + 80 - 50);
    send_all();
    EXPECT_TRUE(eventually([&] { return in_state(1, 2) == 40; })) << "the other goes on";
    daemon.send_signal(SIGTERM);
    EXPECT_EQ(daemon.wait()->status, 0);
}

TEST_F(ShareReleases, OrderStaysAsConfiguredAndWithoutShares) {
    submit(1, 60);
    submit(2, 50);
    quotas();
    run_ok(regulator({"--one_pass"}));
    EXPECT_EQ(in_state(1, 2), 40) << "nothing is in the clock yet: by id";
    run_ok({"batch_shares", "--one_pass"});
    db.execute(Sql("UPDATE result SET server_state=1"));
    run_ok(regulator({"--one_pass", "--priority_order_create_time"}));
    EXPECT_EQ(in_state(1, 2), 40);
    db.execute(Sql("UPDATE result SET server_state=1"));
    config("");
    run_ok(regulator({"--one_pass"}));
    EXPECT_EQ(in_state(1, 2), 40);
    db.execute(Sql("UPDATE result SET server_state=1"));
    config("<share_rule>settled</share_rule>");
    run_ok(regulator({"--one_pass"}));
    EXPECT_EQ(in_state(2, 2), 39) << "the shorter batch is first; two jobs are reserved, one for each user";
}

/// What others took away since it was read (an aborted batch) is replaced in the same pass, and costs a bounded number
/// of statements however many jobs there are.
TEST_F(ShareReleases, InactiveStockIsReplacedInBoundedStatements) {
    submit(1, 300);
    submit(2, 200);
    quotas();
    run_ok({"batch_shares", "--one_pass"});
    const auto store = make_size_regulator_store(db);
    EXPECT_EQ(store->places(static_cast<double>(now)).size(), 2u);
    std::vector<ClassQueue> seen;
    const auto release = [&](const std::vector<QueueRelease>& wanted) {
        int asked = 0;
        return store->release_queues(1, 500, [&](const std::vector<ClassQueue>& queues) {
            seen = queues;
            return ++asked <= 2 ? wanted : std::vector<QueueRelease>{{1, 1, 7}};  // a look, in turn, again
        });
    };
    const auto statements = [&] {
        return std::stoll(rows(Sql("SHOW SESSION STATUS LIKE 'Questions'"), 2).at(0).at(1));
    };
    EXPECT_EQ(release({{1, 2, 150}}), (std::map<int, std::int64_t>{{1, 150}}));
    EXPECT_EQ(seen, (std::vector<ClassQueue>{{1, 1, 0, 300}, {1, 2, 0, 200}}));
    db.execute(Sql("UPDATE result SET server_state=5 WHERE server_state=1 AND batch=2"));
    const auto before = statements();
    EXPECT_EQ(release({{1, 2, 50}}), (std::map<int, std::int64_t>{{1, 7}}));
    EXPECT_EQ(seen, (std::vector<ClassQueue>{{1, 1, 0, 300}, {1, 2, 150, 0}}));
    EXPECT_LE(statements() - before, 20);
    EXPECT_EQ(in_state(1, 2), 7);
}

/// However many jobs there are, so many ids of a batch and class are kept, and the next ones are read by an index.
TEST_F(ShareReleases, ABatchsStockIsBoundedAndOrdered) {
    submit(1, 35);
    submit(2, 12);
    db.execute(Sql("UPDATE result SET batch=0 WHERE batch=2"));
    std::vector<Id> all;
    for (Rows r = db.query(Sql("SELECT id FROM result WHERE batch=1 ORDER BY id")); r.next();) all.push_back(r.i64(0));
    // Its transaction was open when those behind it were read.
    Sql late("UPDATE result SET server_state=0 WHERE id=");
    db.execute(late << all[3]);
    InactiveStock stock(1, 10);
    stock.read(db, 5);
    EXPECT_EQ(stock.queues(db), (std::vector<ClassQueue>{{1, 0, 0, 10}, {1, 1, 0, 10}}));
    Sql there("UPDATE result SET server_state=1 WHERE id=");
    db.execute(there << all[3]);
    std::vector<Id> given;
    for (int turn = 0; turn < 20; ++turn) {
        const auto before = db.statements();
        stock.read(db, 5);
        EXPECT_LE(db.statements() - before, 4u) << "two, and one for each of two queues";
        for (const ClassQueue& q : stock.queues(db)) EXPECT_LE(q.inactive, 14);
        const QueueRelease wanted{1, 1, 4};
        const std::vector<Id> ids = stock.first(wanted);
        stock.remove(wanted, ids);
        for (const Id id : ids) {
            Sql taken("UPDATE result SET server_state=2 WHERE id=");
            db.execute(taken << id);
            given.push_back(id);
        }
    }
    EXPECT_EQ(given, all) << "each once, the least ids first";
    EXPECT_EQ(stock.first({1, 0, 100}).size(), 10u) << "nobody took any";
}

}  // namespace
}  // namespace sluice::test
