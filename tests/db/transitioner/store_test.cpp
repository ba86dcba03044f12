// SPDX-License-Identifier: LGPL-3.0-or-later
// What the store promises, in memory and on MariaDB; then what only a real server can show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/memory/transition_store.h"
#include "tests/support/database_rows.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kNow = 1'700'000'000;
enum class On { kMemory, kMariaDb };

class Store : public testing::TestWithParam<On> {
  protected:
    static void SetUpTestSuite() { PrivateMariaDb::shared().create_project_database("transition"); }
    void SetUp() override {
        if (GetParam() == On::kMariaDb) truncate_all_tables(db);
    }
    TransitionStore& store() {
        if (!store_) {
            if (GetParam() == On::kMemory) {
                store_ = std::make_unique<MemoryTransitionStore>(rows.memory);
            } else {
                store_rows(db, rows);
                store_ = make_transition_store(db);
            }
        }
        return *store_;
    }
    FakeDb after() { return GetParam() == On::kMemory ? rows : load_rows(db); }
    Workunit& workunit(Id id, std::int64_t transition_time = kNow - 10) {
        Workunit& wu = rows.workunits[id];
        wu.id = id, wu.name = "wu" + std::to_string(id), wu.appid = 1, wu.transition_time = transition_time;
        return wu;
    }
    Result& result(Id id, Id wu, ServerState state = ServerState::kUnsent) {
        Result& r = rows.results[id];
        r.id = id, r.workunitid = wu, r.server_state = state;
        r.name = "wu" + std::to_string(wu) + "_" + std::to_string(id);
        return r;
    }
    std::vector<Id> due(const TransitionScope& scope = {}, DueWorkunit after_place = {}, int limit = 100) {
        std::vector<Id> ids;
        for (const DueWorkunit& d : store().due(kNow, scope, after_place, limit)) ids.push_back(d.id);
        return ids;
    }
    static WorkunitChange change_of(const Workunit& wu, std::int64_t transition_time) {
        return {.id = wu.id,
                .need_validate = wu.need_validate,
                .error_mask = wu.error_mask,
                .assimilate_state = wu.assimilate_state,
                .file_delete_state = wu.file_delete_state,
                .hr_class = wu.hr_class,
                .app_version_id = wu.app_version_id,
                .transition_time = transition_time,
                .size_class = wu.size_class};
    }

    FakeDb rows;
    Database db{PrivateMariaDb::shared().settings("transition")};

  private:
    std::unique_ptr<TransitionStore> store_;
};

INSTANTIATE_TEST_SUITE_P(With, Store, testing::Values(On::kMemory, On::kMariaDb),
                         [](const auto& which) { return which.param == On::kMemory ? "Memory" : "MariaDb"; });

TEST_P(Store, SizeClassesMeanTwoOrMore) {
    for (const int classes : {0, 1, 2, 5}) {
        App& app = rows.apps[10 + classes];
        app.id = 10 + classes, app.name = "app" + std::to_string(classes), app.n_size_classes = classes;
    }
    EXPECT_EQ(store().apps_with_size_classes(), (std::set<Id>{12, 15}));
}

TEST_P(Store, TypicalSizesAreGeometricMeansOfRecentJobs) {
    for (const Id id : {1, 2})
        rows.apps[id].id = id, rows.apps[id].name = std::to_string(id), rows.apps[id].n_size_classes = 2;
    Id next = 1;
    const auto job = [&](Id app, int size_class, double flops) {
        Workunit& wu = workunit(next++);
        wu.appid = app, wu.size_class = size_class, wu.rsc_fpops_est = flops;
    };
    job(1, 0, 1e3);  // 10,000 jobs ago
    next = 10'001;
    job(1, 0, 1e10), job(1, 0, 1e12), job(1, 1, 5), job(1, 0, 0), job(1, -1, 7), job(1, 2, 7), job(2, 1, 9);
    const auto sizes = store().typical_sizes(1);
    ASSERT_EQ(sizes.size(), 2u);
    EXPECT_NEAR(sizes.at(0) / 1e11, 1, 1e-12);
    EXPECT_NEAR(sizes.at(1), 5, 1e-12);
    EXPECT_THAT(store().typical_sizes(3), IsEmpty()) << "there is no such app";
}

TEST_P(Store, TypicalSizesGoByNewestJobThere) {
    rows.apps[1].n_size_classes = 2;
    for (const Id id : {1, 2, 10'002, 20'003}) {
        Workunit& wu = workunit(id);
        wu.size_class = static_cast<int>(id % 2), wu.rsc_fpops_est = static_cast<double>(id);
    }
    rows.workunits.erase(20'003);  // purged
    const auto sizes = store().typical_sizes(1);
    ASSERT_EQ(sizes.size(), 1u) << "job 2 is 10,000 jobs ago";
    EXPECT_NEAR(sizes.at(0), 10'002, 1e-6);
}

TEST_P(Store, DueWorkunitsOldestFirst) {
    workunit(1, kNow - 5);
    workunit(2, kNow - 50);
    workunit(3, kNow);
    workunit(4, kNever);
    workunit(5, kNow - 5).transitioner_flags = TransitionerFlags::kNoTransition;
    workunit(6, kNow - 5).transitioner_flags = TransitionerFlags::kNoNewResults;
    EXPECT_THAT(due(), ElementsAre(2, 1, 6));
    EXPECT_THAT(due({}, {}, 2), ElementsAre(2, 1));
    EXPECT_THAT(due({.share = {2, 0}}), ElementsAre(2, 6));
    EXPECT_THAT(due({.only = 4}), ElementsAre(4));
    EXPECT_THAT(due({.only = 5}), IsEmpty());
    EXPECT_THAT(due({.only = 99}), IsEmpty());
    EXPECT_THAT(due({.only = 4}, {kNever, 4}), IsEmpty());
}

TEST_P(Store, ThePagesOfTheQueueMissNothing) {
    for (Id id = 1; id <= 40; ++id) workunit(id, kNow - 100 + (id * 7) % 5);
    const std::vector<Id> all = due();
    ASSERT_EQ(all.size(), 40u);
    for (const int limit : {1, 3, 7, 39, 40}) {
        std::vector<Id> walked;
        for (DueWorkunit place;;) {
            const auto page = store().due(kNow, {}, place, limit);
            if (page.empty()) break;
            place = page.back();
            for (const auto& d : page) walked.push_back(d.id);
        }
        EXPECT_EQ(walked, all) << limit;
    }
}

TEST_P(Store, FactsAreTheRows) {
    Workunit& wu = workunit(3);
    wu.batch = 2, wu.need_validate = true, wu.canonical_resultid = 31, wu.delay_bound = 77, wu.error_mask = 8;
    wu.file_delete_state = FileDeleteState::kDone, wu.assimilate_state = AssimilateState::kReady, wu.hr_class = 386;
    wu.min_quorum = 2, wu.target_nresults = 3, wu.max_error_results = 4, wu.max_total_results = 5;
    wu.max_success_results = 6, wu.result_template_file = "t/o", wu.priority = -7, wu.app_version_id = 9;
    wu.transitioner_flags = TransitionerFlags::kNoNewResults, wu.size_class = 2;
    Result& r = result(32, 3, ServerState::kOver);
    r.outcome = Outcome::kClientError, r.validate_state = ValidateState::kInvalid;
    r.file_delete_state = FileDeleteState::kReady, r.exit_status = 203, r.report_deadline = 11, r.received_time = 12;
    r.hostid = 13, r.app_version_id = -2, r.name = "wu3_8";
    result(31, 3);
    result(40, 4);
    const std::vector<Id> ids = {3, 999};
    const auto facts = store().facts(ids);
    ASSERT_EQ(facts.size(), 1u);
    const Workunit& f = facts[0].wu;
    EXPECT_EQ(
        std::tie(f.name, f.appid, f.batch, f.need_validate, f.canonical_resultid, f.transition_time, f.delay_bound),
        std::tie(wu.name, wu.appid, wu.batch, wu.need_validate, wu.canonical_resultid, wu.transition_time,
                 wu.delay_bound));
    EXPECT_EQ(
        std::tie(f.error_mask, f.file_delete_state, f.assimilate_state, f.hr_class, f.min_quorum, f.target_nresults),
        std::tie(wu.error_mask, wu.file_delete_state, wu.assimilate_state, wu.hr_class, wu.min_quorum,
                 wu.target_nresults));
    EXPECT_EQ(
        std::tie(f.max_error_results, f.max_total_results, f.max_success_results, f.result_template_file, f.priority),
        std::tie(wu.max_error_results, wu.max_total_results, wu.max_success_results, wu.result_template_file,
                 wu.priority));
    EXPECT_EQ(std::tie(f.app_version_id, f.transitioner_flags, f.size_class),
              std::tie(wu.app_version_id, wu.transitioner_flags, wu.size_class));
    ASSERT_EQ(facts[0].results.size(), 2u);
    EXPECT_EQ(facts[0].results[0].id, 31);
    const ResultFacts& g = facts[0].results[1];
    EXPECT_EQ(std::tie(g.id, g.server_state, g.outcome, g.validate_state, g.file_delete_state),
              std::tie(r.id, r.server_state, r.outcome, r.validate_state, r.file_delete_state));
    EXPECT_EQ(std::tie(g.exit_status, g.report_deadline, g.received_time, g.hostid, g.app_version_id),
              std::tie(r.exit_status, r.report_deadline, r.received_time, r.hostid, r.app_version_id));
    EXPECT_EQ(g.suffix, 8);
}

TEST_P(Store, OnlyWhatIsStillDueIsHandedOver) {
    workunit(1);
    workunit(2, kNow);
    workunit(3).transitioner_flags = TransitionerFlags::kNoTransition;
    std::vector<Id> seen;
    const auto look = [&](const std::vector<TransitionFacts>& facts) {
        for (const auto& f : facts) seen.push_back(f.wu.id);
        return TransitionWrites{};
    };
    const std::vector<Id> ids = {3, 2, 1, 77};
    EXPECT_EQ(store().transition(ids, kNow, look), 1);
    EXPECT_THAT(seen, ElementsAre(1));
    seen.clear();
    EXPECT_EQ(store().transition(ids, std::nullopt, look), 2);
    EXPECT_THAT(seen, ElementsAre(1, 2));
    seen.clear();
    const std::vector<Id> none = {77};
    EXPECT_EQ(store().transition(none, kNow, look), 0);
    EXPECT_THAT(seen, IsEmpty());
}

TEST_P(Store, AnErrorInTheDecisionWritesNothing) {
    workunit(1);
    const std::vector<Id> ids = {1};
    EXPECT_THROW(store().transition(ids, kNow, [](const auto&) -> TransitionWrites { throw std::runtime_error("no"); }),
                 std::runtime_error);
    EXPECT_EQ(after().workunits.at(1).transition_time, kNow - 10);
}

TEST_P(Store, TimeOutsWeighOnTheHostsVersion) {
    workunit(1);
    rows.versions[5] = {.id = 5, .appid = 1, .platformid = 1, .version_num = 100, .xml_doc = "", .plan_class = "mt"};
    rows.versions[6] = {.id = 6, .appid = 1, .platformid = 1, .version_num = 200, .xml_doc = "", .plan_class = "mt"};
    rows.versions[7] = {.id = 7, .appid = 1, .platformid = 1, .version_num = 300, .xml_doc = "", .plan_class = "mt"};
    rows.versions[8] = {.id = 8, .appid = 1, .platformid = 1, .version_num = 900, .xml_doc = "", .plan_class = ""};
    const auto host_version = [&](Id host, Id version, int quota) {
        HostAppVersion& v = rows.host_app_versions[{host, version}];
        v.host_id = host, v.app_version_id = version, v.max_jobs_per_day = quota, v.consecutive_valid = 12;
        v.et = {3, 4, 5, 6}, v.pfc_n = 7, v.n_jobs_today = 8, v.turnaround = {1, 500, 0, 0};
    };
    host_version(10, 7, 40);  // there is a row
    host_version(11, 5, 50);  // rows of older versions: the newest is taken over
    host_version(11, 6, 60);
    host_version(11, 8, 70);
    const std::vector<Id> ids = {1};
    store().transition(ids, kNow, [&](const std::vector<TransitionFacts>& facts) {
        return TransitionWrites{.workunits = {change_of(facts[0].wu, kNow + 5)},
                                .timed_out = {{10, 7, 1000, 500},
                                              {10, 7, 2000, 500},
                                              {11, 7, 1000, 500},
                                              {12, 7, 1000, 500},
                                              {12, 1000002, 1000, 20}}};
    });
    const FakeDb now = after();
    const auto& versions = now.host_app_versions;
    EXPECT_EQ(versions.at({10, 7}).max_jobs_per_day, 38) << "twice";
    EXPECT_EQ(versions.at({10, 7}).consecutive_valid, 0);
    EXPECT_EQ(versions.at({10, 7}).turnaround.n, 3);
    EXPECT_NEAR(versions.at({10, 7}).turnaround.avg, (500 + 1000 + 2000) / 3.0, 1e-9);
    EXPECT_EQ(versions.at({10, 7}).n_jobs_today, 8) << "columns of others stay";
    EXPECT_EQ(versions.at({10, 7}).et.avg, 4);
    EXPECT_EQ(versions.at({11, 7}).max_jobs_per_day, 59) << "that of version 6";
    EXPECT_EQ(versions.at({11, 7}).et.avg, 4);
    EXPECT_FALSE(versions.contains({11, 6}));
    EXPECT_TRUE(versions.contains({11, 5}) && versions.contains({11, 8}));
    EXPECT_EQ(versions.at({12, 7}).max_jobs_per_day, 499);
    EXPECT_EQ(versions.at({12, 1000002}).max_jobs_per_day, 19);
    EXPECT_EQ(versions.size(), 6u);
}

TEST_P(Store, PostponingNeverBringsForward) {
    workunit(1);
    workunit(2, kNow + 1000);
    const std::vector<Id> ids = {2, 1, 77};
    store().postpone(ids, kNow + 300);
    const FakeDb now = after();
    EXPECT_EQ(now.workunits.at(1).transition_time, kNow + 300);
    EXPECT_EQ(now.workunits.at(2).transition_time, kNow + 1000);
}

// ---- MariaDB only ----

class RealStore : public Store {};
INSTANTIATE_TEST_SUITE_P(With, RealStore, testing::Values(On::kMariaDb), [](const auto&) { return "MariaDb"; });

/// Sums the counters that grow with each row read.
std::int64_t rows_read(Database& db) {
    return number_of(db, Sql("select sum(variable_value) from information_schema.session_status where variable_name in "
                             "('HANDLER_READ_FIRST','HANDLER_READ_KEY','HANDLER_READ_NEXT','HANDLER_READ_PREV',"
                             "'HANDLER_READ_RND','HANDLER_READ_RND_NEXT','HANDLER_READ_LAST')"));
}

TEST_P(RealStore, ReadingDoesNotGrowWithHistory) {
    db.execute(Sql("set @n=0"));
    db.execute(
        Sql("insert into workunit (create_time,appid,name,batch,rsc_fpops_est,rsc_fpops_bound,rsc_memory_bound,"
            "rsc_disk_bound,need_validate,canonical_resultid,canonical_credit,transition_time,delay_bound,"
            "error_mask,file_delete_state,assimilate_state,hr_class,opaque,min_quorum,target_nresults,"
            "max_error_results,max_total_results,max_success_results,result_template_file,priority,"
            "rsc_bandwidth_bound,fileset_id,app_version_id,transitioner_flags,keywords,app_version_num) "
            "select 1,1,concat('old',seq),0,0,0,0,0,0,0,0,2147483647,0,0,0,0,0,0,1,1,1,1,1,'t',0,0,0,0,0,'',0 "
            "from seq_1_to_20000"));
    db.execute(
        Sql("insert into result (create_time,workunitid,server_state,outcome,client_state,hostid,userid,"
            "report_deadline,sent_time,received_time,name,cpu_time,batch,file_delete_state,validate_state,"
            "claimed_credit,granted_credit,opaque,random,app_version_num,appid,exit_status,teamid,priority,"
            "elapsed_time,flops_estimate,app_version_id,runtime_outlier,peak_working_set_size,peak_swap_size,"
            "peak_disk_usage) select 1,seq,5,1,0,0,0,0,0,0,concat('old',seq,'_0'),0,0,0,1,0,0,0,0,0,1,0,0,0,0,0,0,0,"
            "0,0,0 from seq_1_to_20000"));
    for (Id id = 30001; id <= 30010; ++id) workunit(id, kNow - 1);
    for (Id id = 30001; id <= 30010; ++id) result(id, id);
    const auto list = [&] {
        std::vector<Id> ids;
        for (const auto& d : store().due(kNow, {}, {}, 100)) ids.push_back(d.id);
        return ids;
    };
    ASSERT_EQ(list().size(), 10u);
    const std::int64_t before = rows_read(db);
    const auto ids = list();
    store().due(kNow, {}, {kNow - 1, 30004}, 100);
    store().transition(ids, kNow, [&](const auto& facts) {
        TransitionWrites writes;
        for (const auto& f : facts) {
            EXPECT_EQ(f.results.size(), 1u);
            writes.workunits.push_back(change_of(f.wu, kNow + f.wu.id));
        }
        return writes;
    });
    EXPECT_LT(rows_read(db) - before, 1000) << "of 40,000 rows";
}

TEST_P(RealStore, ResultThatChangesMeanwhileIsDecidedOnAgain) {
    workunit(1);
    result(10, 1, ServerState::kInProgress).report_deadline = kNow - 5;
    Database reporter(PrivateMariaDb::shared().settings("transition"));
    int decisions = 0;
    ServerState last{};
    const std::vector<Id> ids = {1};
    store().transition(ids, kNow, [&](const std::vector<TransitionFacts>& facts) {
        // Upstream's cgi writes the result first, then the workunit: our lock on the workunit does not stop it.
        if (++decisions == 1)
            reporter.execute(Sql("update result set server_state=5, outcome=1, received_time=7 where id=10"));
        const ResultFacts& r = facts[0].results[0];
        last = r.server_state;
        TransitionWrites writes{.workunits = {change_of(facts[0].wu, kNow + 9)}};
        if (r.server_state == ServerState::kInProgress)
            writes.results.push_back({.was = r,
                                      .server_state = ServerState::kOver,
                                      .outcome = Outcome::kNoReply,
                                      .if_deadline_before = kNow});
        return writes;
    });
    EXPECT_EQ(decisions, 2);
    EXPECT_EQ(last, ServerState::kOver);
    EXPECT_EQ(after().results.at(10).outcome, Outcome::kSuccess);
    EXPECT_EQ(after().workunits.at(1).transition_time, kNow + 9);
}

TEST_P(RealStore, OnlyThePagesWorkunitsAreLocked) {
    std::vector<Id> ids;
    for (Id id = 1; id <= 10; ++id) {
        workunit(id);
        result(id * 10, id, ServerState::kInProgress).report_deadline = kNow - 5;
        if (id != 5) ids.push_back(id);
    }
    workunit(20, kNow + 50);
    store();
    Database other(PrivateMariaDb::shared().settings("transition"));
    other.execute(Sql("set innodb_lock_wait_timeout=1"));
    store().transition(ids, kNow, [&](const std::vector<TransitionFacts>& facts) {
        EXPECT_EQ(other.execute(Sql("update workunit set transition_time=transition_time-1 where id in (5,20)")), 2);
        EXPECT_EQ(other.execute(Sql("update result set cpu_time=1 where workunitid=5")), 1);
        EXPECT_EQ(
            other.execute(Sql("insert into workunit select 100, create_time, appid, 'another', xml_doc, batch, "
                              "rsc_fpops_est, rsc_fpops_bound, rsc_memory_bound, rsc_disk_bound, need_validate, "
                              "canonical_resultid, canonical_credit, transition_time, delay_bound, error_mask, "
                              "file_delete_state, assimilate_state, hr_class, opaque, min_quorum, target_nresults, "
                              "max_error_results, max_total_results, max_success_results, result_template_file, "
                              "priority, now(), rsc_bandwidth_bound, fileset_id, app_version_id, "
                              "transitioner_flags, size_class, keywords, app_version_num from workunit where id=5")),
            1);
        TransitionWrites writes;
        for (const auto& f : facts) {
            writes.workunits.push_back(change_of(f.wu, kNow + 9));
            writes.results.push_back(
                {.was = f.results[0], .server_state = ServerState::kOver, .outcome = Outcome::kNoReply});
        }
        return writes;
    });
    EXPECT_THROW(store().transition(ids, std::nullopt,
                                    [&](const auto&) -> TransitionWrites {
                                        other.execute(Sql("update workunit set priority=1 where id=6"));
                                        return {};
                                    }),
                 DbError)
        << "those of the page are";
}

TEST_P(RealStore, PageOfNewWorkunitsCostsHandfulOfStatements) {
    std::vector<Id> ids;
    for (Id id = 1; id <= 300; ++id) workunit(id), ids.push_back(id);
    store();
    const auto before = db.statements(), commits = db.commits();
    store().transition(ids, kNow, [&](const std::vector<TransitionFacts>& facts) {
        TransitionWrites writes;
        for (const auto& f : facts) {
            Result& r = writes.created.emplace_back();
            r.workunitid = f.wu.id, r.name = f.wu.name + "_0", r.xml_doc_in = std::string(1000, 'x');
            writes.workunits.push_back(change_of(f.wu, kNow + 100));
        }
        return writes;
    });
    EXPECT_LE(db.statements() - before, 6u) << "begin, 2 reads, insert, update, commit";
    EXPECT_EQ(db.commits() - commits, 1u);
    EXPECT_EQ(number_of(db, Sql("select count(*) from result")), 300);
}

TEST_P(RealStore, BulkInsertsAreCutAtAFewMegabytes) {
    workunit(1);
    const std::vector<Id> ids = {1};
    store().transition(ids, kNow, [&](const std::vector<TransitionFacts>& facts) {
        TransitionWrites writes{.workunits = {change_of(facts[0].wu, kNow + 100)}};
        for (int i = 0; i < 200; ++i) {
            Result& r = writes.created.emplace_back();
            r.workunitid = 1, r.name = "wu1_" + std::to_string(i), r.xml_doc_in = std::string(60000, '\'');
        }
        return writes;
    });
    EXPECT_EQ(number_of(db, Sql("select count(*) from result where length(xml_doc_in)=60000")), 200);
}

}  // namespace
}  // namespace sluice::test
