// SPDX-License-Identifier: LGPL-3.0-or-later
// One suite for the store in memory and for MariaDB.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/memory/feeder_store.h"
#include "sluice/base/rng.h"
#include "tests/support/database_rows.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

enum class Kind { kMemory, kMariaDb };

class FeederStoreTest : public testing::TestWithParam<Kind> {
  protected:
    static void SetUpTestSuite() { PrivateMariaDb::shared().create_project_database("feeder_store"); }
    void SetUp() override {
        if (GetParam() == Kind::kMariaDb) truncate_all_tables(db_);
    }
    /// After the rows are set up.
    FeederStore& store() {
        if (!store_) {
            if (GetParam() == Kind::kMemory) {
                auto memory = std::make_unique<MemoryFeederStore>(rows.memory);
                memory->quota_of = quotas_;
                store_ = std::move(memory);
            } else {
                store_rows(db_, rows);
                for (const auto& [user, quota] : quotas_) {
                    Sql sql(
                        "insert into user_submit (user_id, quota, logical_start_time, submit_all, manage_all, max_jobs_in_progress) values (");
                    db_.execute(sql << user << ", " << quota << ", 0, 1, 0, 0)");
                }
                store_ = make_feeder_store(db_);
            }
        }
        return *store_;
    }
    FakeDb after() { return GetParam() == Kind::kMemory ? rows : load_rows(db_); }

    Result& result(Id id, Id workunit, std::int64_t priority = 0, Id app = 1) {
        Result& r = rows.results[id];
        r.id = id, r.workunitid = workunit, r.priority = priority, r.appid = app, r.name = "r" + std::to_string(id);
        r.server_state = ServerState::kUnsent;
        r.random = id * 31 % 17;
        if (rows.workunits.count(workunit) == 0) {
            Workunit& w = rows.workunits[workunit];
            w.id = workunit, w.appid = app, w.name = "w" + std::to_string(workunit), w.transition_time = kNever;
        }
        return r;
    }
    /// The whole walk, in pages of `page` rows.
    std::vector<Id> walk(const UnsentFilter& filter, WalkOrder order, int page) {
        std::vector<Id> ids;
        WalkPosition at;
        for (;;) {
            const auto rows_read = store().unsent_page(filter, order, at, page);
            for (const UnsentRow& r : rows_read) ids.push_back(r.id);
            EXPECT_LE(rows_read.size(), static_cast<std::size_t>(page));
            if (rows_read.size() < static_cast<std::size_t>(page)) return ids;
            at = {true, rows_read.back().priority, rows_read.back().id};
        }
    }

    FakeDb rows;
    std::map<Id, double> quotas_;

  private:
    Database db_{PrivateMariaDb::shared().settings("feeder_store")};
    std::unique_ptr<FeederStore> store_;
};

TEST_P(FeederStoreTest, WalkSeesEachUnsentResultOnceInOrder) {
    result(1, 10, 5), result(2, 11, 0), result(3, 12, 5), result(4, 13, -7), result(5, 14, 0);
    result(6, 15, 9).server_state = ServerState::kInProgress;
    result(7, 16, 9).server_state = ServerState::kInactive;
    for (const int page : {1, 2, 3, 4, 100}) {
        EXPECT_THAT(walk({}, WalkOrder::kPriorityDown, page), ElementsAre(1, 3, 2, 5, 4)) << page;
        EXPECT_THAT(walk({}, WalkOrder::kPriorityUp, page), ElementsAre(4, 2, 5, 1, 3)) << page;
    }
}

TEST_P(FeederStoreTest, WalksOfRandomQueuesAreCompleteAndOrdered) {
    const auto rng = make_seeded_rng(3);
    for (Id id = 1; id <= 300; ++id)
        result(id, 1000 + id, static_cast<std::int64_t>(rng->below(7)) * 1000000 - 3000000,
               1 + static_cast<Id>(rng->below(3)));
    for (const int page : {1, 7, 40, 299, 300, 301}) {
        for (const bool down : {true, false}) {
            const auto ids = walk({}, down ? WalkOrder::kPriorityDown : WalkOrder::kPriorityUp, page);
            ASSERT_EQ(ids.size(), 300u);
            for (std::size_t i = 1; i < ids.size(); ++i) {
                const auto a = rows.results.at(ids[i - 1]).priority, b = rows.results.at(ids[i]).priority;
                ASSERT_TRUE(a == b ? ids[i - 1] < ids[i] : (a > b) == down) << page << " at " << i;
            }
        }
        UnsentFilter app;
        app.appids = {2};
        const auto ids = walk(app, WalkOrder::kById, page);
        EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
        EXPECT_EQ(ids.size(),
                  static_cast<std::size_t>(std::count_if(rows.results.begin(), rows.results.end(),
                                                         [](const auto& r) { return r.second.appid == 2; })));
    }
}

TEST_P(FeederStoreTest, FiltersApplyTogether) {
    for (Id id = 1; id <= 60; ++id) result(id, 100 + id / 2, 0, 1 + id % 3);
    UnsentFilter filter;
    filter.appids = {1, 2};
    filter.share = {4, 1};
    filter.workunit_share = {5, 2};
    std::vector<Id> right;
    for (const auto& [id, r] : rows.results) {
        if (r.appid != 3 && id % 4 == 1 && r.workunitid % 5 == 2) right.push_back(id);
    }
    ASSERT_FALSE(right.empty());
    EXPECT_EQ(walk(filter, WalkOrder::kPriorityDown, 7), right);
}

TEST_P(FeederStoreTest, PartIsSameForServerAndHere) {
    for (Id n = 0; n < 60; ++n) result(n < 40 ? 3 * n + 1 : 2000000000 + 7 * n, 1000 + n, 0, 1).create_time = n;
    for (int i = 0; i < 3; ++i) {
        UnsentFilter filter;
        filter.part = {3, i}, filter.others_before = 5;
        std::vector<Id> right;
        for (const auto& [id, r] : rows.results)
            if (filter.part.has(id) || r.create_time < 5) right.push_back(id);
        EXPECT_EQ(walk(filter, WalkOrder::kPriorityDown, 7), right);
    }
}

TEST_P(FeederStoreTest, RowsCarryWhatAnOrderNeeds) {
    Result& r = result(4, 40, -3, 2);
    r.batch = 77;
    r.random = 123456;
    rows.workunits[40].hr_class = 258;
    UnsentFilter filter;
    const auto plain = store().unsent_page(filter, WalkOrder::kPriorityDown, {}, 10).at(0);
    EXPECT_EQ(plain.id, 4);
    EXPECT_EQ(plain.workunit_id, 40);
    EXPECT_EQ(plain.app_id, 2);
    EXPECT_EQ(plain.batch, 77);
    EXPECT_EQ(plain.priority, -3);
    EXPECT_EQ(plain.random, 123456);
    EXPECT_EQ(plain.hr_class, 0);
    filter.with_hr_class = true;
    EXPECT_EQ(store().unsent_page(filter, WalkOrder::kPriorityDown, {}, 10).at(0).hr_class, 258);
    filter.appids = {2};
    EXPECT_EQ(store().unsent_page(filter, WalkOrder::kById, {}, 10).at(0).hr_class, 258);
}

TEST_P(FeederStoreTest, LoadSaysWhichResultsXmlIsWhole) {
    const std::vector<std::pair<std::string, bool>> documents{
        {"", false}, {"<result>\n</result>\n", true}, {"<result>\n<file_ref>", false}, {"</result><result>", false}};
    for (Id id = 1; const auto& document : documents) result(id++, 90).xml_doc_in = document.first;
    const auto jobs = store().load(std::vector<Id>{1, 2, 3, 4});
    ASSERT_EQ(jobs.size(), documents.size());
    for (const UnsentJob& job : jobs) {
        const auto& [xml, whole] = documents[static_cast<std::size_t>(job.result.id) - 1];
        EXPECT_EQ(job.result_is_whole, whole) << xml;
    }
}

TEST_P(FeederStoreTest, LoadGivesAllThatAJobIs) {
    Result& r = result(9, 90, 12, 3);
    r.report_deadline = 5, r.create_time = 6;
    Workunit& w = rows.workunits[90];
    w.xml_doc = "<workunit>'\"\\\n</workunit>", w.batch = 4, w.rsc_fpops_est = 1e12, w.rsc_fpops_bound = 2e12;
    w.rsc_memory_bound = 3e9, w.rsc_disk_bound = 4e9, w.rsc_bandwidth_bound = 5.5, w.canonical_resultid = 8,
    w.delay_bound = 86400;
    w.error_mask = 2, w.hr_class = 258, w.target_nresults = 3, w.priority = 1, w.app_version_id = 17;
    w.transitioner_flags = TransitionerFlags::kNoNewResults, w.size_class = 2, w.keywords = "1 2",
    w.app_version_num = 101;
    result(10, 91).server_state = ServerState::kOver;
    rows.results[11] = rows.results[9];  // its workunit is gone
    rows.results[11].id = 11, rows.results[11].name = "r11", rows.results[11].workunitid = 999;
    const std::vector<Id> ids{9, 10, 11, 12345};
    auto jobs = store().load(ids);
    std::sort(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) { return a.result.id < b.result.id; });
    ASSERT_EQ(jobs.size(), 2u);
    const UnsentJob& job = jobs[0];
    EXPECT_EQ(job.result.name, "r9");
    EXPECT_EQ(job.result.priority, 12);
    EXPECT_EQ(job.result.report_deadline, 5);
    EXPECT_EQ(job.result.create_time, 6);
    EXPECT_EQ(job.result.server_state, ServerState::kUnsent);
    EXPECT_EQ(job.workunit.id, 90);
    EXPECT_EQ(job.workunit.appid, 3);
    EXPECT_EQ(job.workunit.name, "w90");
    EXPECT_EQ(job.workunit.xml_doc, w.xml_doc);
    EXPECT_EQ(job.workunit.batch, 4);
    EXPECT_EQ(job.workunit.rsc_fpops_est, 1e12);
    EXPECT_EQ(job.workunit.rsc_fpops_bound, 2e12);
    EXPECT_EQ(job.workunit.rsc_memory_bound, 3e9);
    EXPECT_EQ(job.workunit.rsc_disk_bound, 4e9);
    EXPECT_EQ(job.workunit.rsc_bandwidth_bound, 5.5);
    EXPECT_EQ(job.workunit.canonical_resultid, 8);
    EXPECT_EQ(job.workunit.delay_bound, 86400);
    EXPECT_EQ(job.workunit.error_mask, 2);
    EXPECT_EQ(job.workunit.hr_class, 258);
    EXPECT_EQ(job.workunit.target_nresults, 3);
    EXPECT_EQ(job.workunit.priority, 1);
    EXPECT_EQ(job.workunit.app_version_id, 17);
    EXPECT_EQ(job.workunit.transitioner_flags, TransitionerFlags::kNoNewResults);
    EXPECT_EQ(job.workunit.size_class, 2);
    EXPECT_EQ(job.workunit.keywords, "1 2");
    EXPECT_EQ(job.workunit.app_version_num, 101);
    EXPECT_EQ(jobs[1].result.server_state, ServerState::kOver);
    EXPECT_THAT(store().load({}), IsEmpty());
}

TEST_P(FeederStoreTest, LookAtSaysWhatMayHaveChanged) {
    result(1, 10, 4);
    Workunit& w = rows.workunits[10];
    w.priority = 1, w.hr_class = 2, w.error_mask = 4, w.size_class = 3, w.app_version_id = 5, w.canonical_resultid = 6;
    w.transitioner_flags = TransitionerFlags::kNoTransition;
    const std::vector<Id> ids{1, 2};
    const auto states = store().look_at(ids);
    ASSERT_EQ(states.size(), 1u);
    const JobState& s = states[0];
    EXPECT_EQ(s.result_id, 1);
    EXPECT_EQ(s.server_state, ServerState::kUnsent);
    EXPECT_EQ(s.priority, 4);
    EXPECT_EQ(s.wu_priority, 1);
    EXPECT_EQ(s.hr_class, 2);
    EXPECT_EQ(s.error_mask, 4);
    EXPECT_EQ(s.size_class, 3);
    EXPECT_EQ(s.app_version_id, 5);
    EXPECT_EQ(s.canonical_resultid, 6);
    EXPECT_EQ(s.transitioner_flags, TransitionerFlags::kNoTransition);
    EXPECT_THAT(store().look_at({}), IsEmpty());
}

TEST_P(FeederStoreTest, OnlyUnsentResultsAreMarked) {
    result(1, 10), result(2, 11).server_state = ServerState::kInProgress;
    result(3, 12);
    rows.workunits[12].transition_time = 5;
    const std::vector<Id> ids{1, 2, 3, 99};
    EXPECT_EQ(store().mark_didnt_need(ids, 1000), 2);
    const FakeDb now = after();
    EXPECT_EQ(now.results.at(1).server_state, ServerState::kOver);
    EXPECT_EQ(now.results.at(1).outcome, Outcome::kDidntNeed);
    EXPECT_EQ(now.results.at(2).server_state, ServerState::kInProgress);
    EXPECT_EQ(now.results.at(3).outcome, Outcome::kDidntNeed);
    EXPECT_EQ(now.workunits.at(10).transition_time, 1000);
    EXPECT_EQ(now.workunits.at(11).transition_time, kNever);
    EXPECT_EQ(now.workunits.at(12).transition_time, 5) << "sooner stays";
    EXPECT_EQ(store().mark_didnt_need({}, 1000), 0);
}

TEST_P(FeederStoreTest, ReleaseOfHrClasses) {
    for (const Id wu : {10, 11, 12, 13}) {
        result(wu, wu);
        rows.workunits[wu].hr_class = 258;
        rows.workunits[wu].target_nresults = 2;
    }
    rows.workunits[13].hr_class = 0;
    result(21, 11).server_state = ServerState::kInProgress;
    Result& success = result(22, 12);
    success.server_state = ServerState::kOver, success.outcome = Outcome::kSuccess;
    Result& failure = result(23, 10);
    failure.server_state = ServerState::kOver, failure.outcome = Outcome::kClientError;
    const std::vector<Id> wus{10, 11, 12, 13};
    EXPECT_EQ(store().release_hr_class(wus, 500, false), 1);
    FakeDb now = after();
    EXPECT_EQ(now.workunits.at(10).hr_class, 0);
    EXPECT_EQ(now.workunits.at(10).target_nresults, 2);
    EXPECT_EQ(now.workunits.at(10).transition_time, 500);
    EXPECT_EQ(now.workunits.at(11).hr_class, 258);
    EXPECT_EQ(now.workunits.at(12).hr_class, 258);
    EXPECT_EQ(store().release_hr_class(wus, 600, true), 2) << "upstream frees whatever its instances are";
    now = after();
    EXPECT_EQ(now.workunits.at(11).hr_class, 0);
    EXPECT_EQ(now.workunits.at(11).target_nresults, 3);
    EXPECT_EQ(now.workunits.at(10).target_nresults, 2);
    EXPECT_EQ(now.workunits.at(13).target_nresults, 2);
}

TEST_P(FeederStoreTest, SubmittersAndOwners) {
    rows.users[1].id = 1, rows.users[1].email_addr = "a", rows.users[1].authenticator = "a", rows.users[1].name = "a";
    rows.users[2].id = 2, rows.users[2].email_addr = "b", rows.users[2].authenticator = "b", rows.users[2].name = "b";
    quotas_ = {{2, 2.5}, {3, 1}};  // user 3 does not exist
    rows.batches[7].id = 7, rows.batches[7].user_id = 2;
    const std::vector<Id> users{1, 2, 3};
    const auto found = store().submitters(users);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].user_id, 2);
    EXPECT_EQ(found[0].quota, 2.5);
    const std::vector<Id> batches{7, 8};
    EXPECT_THAT(store().batch_owners(batches), ElementsAre(std::pair<Id, Id>(7, 2)));
}

TEST_P(FeederStoreTest, HostsThatFit) {
    const auto host = [&](Id id, double memory, double disk, std::int64_t heard) {
        Host& h = rows.hosts[id];
        h.id = id, h.m_nbytes = memory, h.d_free = disk, h.rpc_time = heard;
    };
    host(1, 8e9, 100e9, 2000), host(2, 2e9, 100e9, 2000), host(3, 8e9, 1e9, 2000), host(4, 8e9, 100e9, 10);
    for (Id id = 100; id < 1096; ++id) host(id, 9e9, 900e9, 10), rows.hosts[id].expavg_credit = 5;
    for (Id id = 2001; id < 2050; ++id) host(id, 9e9, 900e9, 2000);
    for (const Id id : {1, 2, 3, 4}) rows.hosts[id].expavg_credit = 7;
    const HostFit fit = store().hosts_that_fit(4e9, 10e9, 1000).value();  // of the 1,000 with most credit
    EXPECT_EQ(fit.hosts, 3);
    EXPECT_EQ(fit.enough_memory, 2);
    EXPECT_EQ(fit.enough_disk, 2);
    EXPECT_EQ(fit.both, 1);
    EXPECT_EQ(store().hosts_that_fit(1, 1, 5000).value().hosts, 0);
}

INSTANTIATE_TEST_SUITE_P(Both, FeederStoreTest, testing::Values(Kind::kMemory, Kind::kMariaDb),
                         [](const auto& kind) { return kind.param == Kind::kMemory ? "Memory" : "MariaDb"; });

/// Few unsent results, many ids: by the index of states the server would lock unsent results that are not meant.
void expect_marking_waits_for_nobody(Database& db, FeederStore& store) {
    Database other(PrivateMariaDb::shared().settings("feeder_explain"));
    db.execute(Sql("update result set server_state=5 where id>40"));
    db.query(Sql("analyze table result"));
    db.execute(Sql("set session innodb_lock_wait_timeout=1"));
    std::vector<Id> ids;
    for (Id id = 11; id <= 300; ++id) ids.push_back(id);
    other.transaction([&] {
        other.query(Sql("select id from result where id=10 for update"));
        EXPECT_EQ(store.mark_didnt_need(ids, 1), 3) << "20, 30, 40";
    });
    db.execute(Sql("update result set server_state=2 where id % 10 = 0"));
    db.query(Sql("analyze table result"));
}

/// Pages must come from an index, without sorting and without reading what is not unsent; what is asked about single
/// jobs must not depend on how many others there are.
TEST(FeederStoreQueries, UseTheIndexes) {
    PrivateMariaDb::shared().create_project_database("feeder_explain");
    Database db(PrivateMariaDb::shared().settings("feeder_explain"));
    FakeDb rows;
    for (Id id = 1; id <= 3000; ++id) {
        Result& r = rows.results[id];
        r.id = id, r.workunitid = id, r.appid = 1 + id % 3, r.name = "r" + std::to_string(id), r.priority = id % 5;
        r.server_state = id % 10 == 0 ? ServerState::kUnsent : ServerState::kOver;
        Workunit& w = rows.workunits[id];
        w.id = id, w.appid = r.appid, w.name = "w" + std::to_string(id), w.transition_time = kNever, w.hr_class = 1;
    }
    for (Id id = 1; id <= 10000; ++id)
        rows.hosts[id].id = id, rows.hosts[id].expavg_credit = static_cast<double>(id % 50);
    store_rows(db, rows);
    db.query(Sql("analyze table result, workunit, host"));
    const auto rows_examined = [&](const std::function<void()>& work) {
        const auto handler_reads = [&] {
            std::int64_t sum = 0;
            Rows status = db.query(
                Sql("show session status where variable_name like 'Handler_read%' or variable_name = 'Sort_rows'"));
            while (status.next()) sum += status.i64(1);
            return sum;
        };
        const std::int64_t before = handler_reads();
        work();
        return handler_reads() - before;
    };
    const auto store = make_feeder_store(db);
    expect_marking_waits_for_nobody(db, *store);
    // 300 of 3000 results are unsent. A page of 20 may look at about so many index entries, never at the table.
    EXPECT_LT(rows_examined([&] { store->unsent_page({}, WalkOrder::kPriorityDown, {}, 20); }), 120);
    EXPECT_LT(rows_examined([&] { store->unsent_page({}, WalkOrder::kPriorityDown, {true, 0, 500}, 20); }), 120);
    EXPECT_LT(rows_examined([&] { store->unsent_page({}, WalkOrder::kPriorityUp, {true, 0, 500}, 20); }), 120);
    UnsentFilter app;
    app.appids = {2};
    EXPECT_LT(rows_examined([&] { store->unsent_page(app, WalkOrder::kById, {true, 0, 500}, 20); }), 120);
    const std::vector<Id> few{2010, 2020, 2030};
    EXPECT_LT(rows_examined([&] { store->load(few); }), 20);
    EXPECT_LT(rows_examined([&] { store->look_at(few); }), 20);
    EXPECT_LT(rows_examined([&] { EXPECT_EQ(store->release_hr_class(few, 5, false), 3); }), 30);
    EXPECT_LT(rows_examined([&] { EXPECT_EQ(store->mark_didnt_need(few, 5), 3); }), 30);
    EXPECT_LT(rows_examined([&] { store->hosts_that_fit(1, 1, 0); }), 3 * kHostsLookedAt) << "of 10,000";
}

/// Whoever holds the table up (ALTER TABLE, a backup) does not hold the feeder up: places of jobs that are taken are
/// filled by the same connection.
TEST(FeederStoreQueries, HostsAreNotWaitedFor) {
    PrivateMariaDb::shared().create_project_database("feeder_patience");
    Database db(PrivateMariaDb::shared().settings("feeder_patience"));
    Database other(PrivateMariaDb::shared().settings("feeder_patience"));
    db.execute(Sql("set session lock_wait_timeout=20"));
    const auto store = make_feeder_store(db);
    other.execute(Sql("lock tables host write"));
    EXPECT_FALSE(store->hosts_that_fit(1, 1, 0).has_value());
    other.execute(Sql("unlock tables"));
    EXPECT_TRUE(store->hosts_that_fit(1, 1, 0).has_value()) << "the connection is as it was";
    EXPECT_EQ(rows_of(db, Sql("select @@max_statement_time=0"), 1)[0][0], "1");
}

}  // namespace
}  // namespace sluice::test
