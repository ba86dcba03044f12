// SPDX-License-Identifier: LGPL-3.0-or-later
// Two programs of a kind, each on a node of its own: a lock of a row that is not written holds on one of them only, so
// what one has decided under it the other's commit must overthrow.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <utility>

#include "sluice/db/batch_store.h"
#include "sluice/db/share_store.h"
#include "sluice/db/size_store.h"
#include "sluice/db/transition_store.h"
#include "sluice/db/work_store.h"
#include "tests/db/cluster/cluster_world.h"
#include "tests/support/sql_proxy.h"

namespace sluice::test {
namespace {

class TwoOfAKind : public testing::Test {
  protected:
    /// What is committed on `there` from now on comes to `here` only after something that takes long to be written:
    /// certified at once, but too late to meet the locks of what runs here.
    void keep_here_behind() {
        there.execute(
            Sql("INSERT INTO many_rows SELECT seq, REPEAT('x',500) FROM seq_1_to_40000 ON DUPLICATE KEY UPDATE "
                "many_rows.text=CONCAT(VALUES(text),'y')"));
    }
    TwoOfAKind() {
        here.execute(Sql("CREATE TABLE many_rows (id int NOT NULL PRIMARY KEY, text text NOT NULL) ENGINE=InnoDB"));
        world.number(1, Sql("SELECT 1"));
    }
    ClusterWorld world;
    Database& here = world.machine(0).db();
    Database& there = world.machine(1).db();
};

TEST_F(TwoOfAKind, RegulatorsReleaseUpToTheMarkBetweenThem) {
    constexpr std::int64_t kHigh = 10;
    world.add_jobs(40, 1);
    here.execute(Sql("UPDATE result SET server_state=1,size_class=0,priority=id"));
    world.number(1, Sql("SELECT 1"));
    const auto a = make_size_regulator_store(here), b = make_size_regulator_store(there);
    const auto fill_up = [](const std::map<int, std::int64_t>& unsent) {
        std::vector<std::pair<int, std::int64_t>> wanted;
        const std::int64_t have = unsent.contains(0) ? unsent.at(0) : 0;
        if (have < kHigh) wanted.emplace_back(0, kHigh - have);
        return wanted;
    };
    int decided = 0;
    a->release(1, ReleaseOrder::kPriorityAscending, [&](const std::map<int, std::int64_t>& unsent) {
        if (++decided == 1) {  // of other jobs: no row is written by both
            EXPECT_EQ(b->release(1, ReleaseOrder::kPriorityDescending, fill_up), std::vector<std::int64_t>{kHigh});
        }
        return fill_up(unsent);
    });
    EXPECT_EQ(world.number(2, Sql("SELECT COUNT(*) FROM result WHERE server_state=2")), kHigh);
}

TEST_F(TwoOfAKind, TransitionersMakeEachInstanceOnce) {
    constexpr std::int64_t kNow = 1000;
    world.add_jobs(1, 1);
    here.execute(Sql("UPDATE workunit SET transition_time=500"));
    world.number(1, Sql("SELECT 1"));
    const auto a = make_transition_store(here), b = make_transition_store(there);
    // A second instance where there is one; not by the same name, which the table would refuse.
    const auto one_more = [](const char* suffix, const std::vector<TransitionFacts>& all) {
        TransitionWrites writes;
        for (const TransitionFacts& f : all) {
            if (f.results.size() > 1) continue;
            Result& r = writes.created.emplace_back();
            r.workunitid = f.wu.id, r.appid = 1, r.name = f.wu.name + suffix, r.server_state = ServerState::kUnsent;
            WorkunitChange& w = writes.workunits.emplace_back();
            w.id = f.wu.id, w.transition_time = kNever - 1, w.size_class = f.wu.size_class;
        }
        return writes;
    };
    const Id ids[] = {1};
    int decided = 0;
    a->transition(ids, kNow, [&](const std::vector<TransitionFacts>& all) {
        if (++decided == 1) {
            keep_here_behind();
            b->transition(ids, kNow,
                          [&](const std::vector<TransitionFacts>& same) { return one_more("_there", same); });
        }
        return one_more("_here", all);
    });
    EXPECT_EQ(world.number(2, Sql("SELECT COUNT(*) FROM result WHERE workunitid=1")), 2);
    EXPECT_EQ(world.number(2, Sql("SELECT COUNT(*) FROM result WHERE name LIKE '%here'")), 1);
}

TEST_F(TwoOfAKind, TwoAcceleratorsLendOneInstanceOnce) {
    world.add_jobs(1, 2);
    const auto a = make_batch_accel_store(here), b = make_batch_accel_store(there);
    a->prepare();
    world.number(1, Sql("SELECT 1"));
    AccelWrite more;
    more.batch = 1, more.now = 1000;
    more.more = {{1, 2}};
    keep_here_behind();
    b->apply(more);
    a->apply(more);  // this node does not show yet what the other has done
    EXPECT_EQ(world.number(2, Sql("SELECT target_nresults FROM workunit")), 3);
    AccelWrite back;
    back.give_back = {{1, 1}};
    keep_here_behind();
    b->apply(back);
    a->apply(back);
    EXPECT_EQ(world.number(2, Sql("SELECT target_nresults FROM workunit")), 2);
    EXPECT_EQ(world.number(2, Sql("SELECT lent FROM sluice_accel_job")), 0);
}

TEST_F(TwoOfAKind, NoJobsGetIntoBatchAbortedMeanwhile) {
    here.execute(
        Sql("INSERT INTO batch (id,user_id,create_time,logical_start_time,logical_end_time,est_completion_time,njobs,"
            "fraction_done,nerror_jobs,state,completion_time,credit_estimate,credit_canonical,credit_total,name,app_id,"
            "project_state,description,expire_time) VALUES (5,1,0,0,0,0,0,0,0,0,0,0,0,0,'b',1,0,'',0)"));
    world.number(1, Sql("SELECT 1"));
    const auto owner = make_batch_owner_store(there);
    bool aborted = false;
    SqlProxy proxy(shared_cluster().node(0).socket(), [&](const std::string& text, int) {
        if (text.find("INSERT INTO workunit") != text.npos && !std::exchange(aborted, true)) {
            keep_here_behind();
            owner->change_state(5, {BatchState::kInit}, BatchState::kAborted, 1000);
        }
        return SqlProxy::Action::kPass;
    });
    DbSettings settings = shared_cluster().node(0).settings();
    Rows name = here.query(Sql("SELECT DATABASE()"));
    ASSERT_TRUE(name.next());
    settings.name = name.text(0);
    settings.host = "localhost";
    ::setenv("MYSQL_UNIX_PORT", proxy.socket().c_str(), 1);
    Database through(settings);
    Workunit w;
    w.appid = 1, w.batch = 5, w.name = "job";
    const auto chunk = make_work_store(through)->insert_into_batch(5, std::span(&w, 1), std::vector<JobRows>(1), 0);
    through.disconnect();
    EXPECT_TRUE(aborted);
    ASSERT_TRUE(chunk);
    EXPECT_EQ(chunk->state, BatchState::kAborted);
    EXPECT_EQ(chunk->missing, "job");
    EXPECT_EQ(world.number(2, Sql("SELECT COUNT(*) FROM workunit WHERE batch=5")), 0);
}

TEST_F(TwoOfAKind, AnothersChangeMakesItReadTheClockAgain) {
    here.execute(Sql("INSERT INTO user_submit VALUES (1,1,0,1,1,0),(2,1,0,1,1,0)"));
    const auto a = make_share_store(here), b = make_share_store(there);
    a->prepare();
    world.number(1, Sql("SELECT 1"));
    const double now = 1e9;
    a->change({}, now, [&](ShareBook& book) { book.clock.submit(now, 1, 7, 10); });
    world.number(1, Sql("SELECT 1"));
    int tries = 0;
    a->change({}, now, [&](ShareBook& book) {
        if (++tries == 1) {
            keep_here_behind();
            b->change({}, now, [&](ShareBook& other) { other.clock.submit(now, 2, 9, 10); });
        }
        book.clock.submit(now, 1, 8, 10);
    });
    EXPECT_EQ(tries, 2);
    EXPECT_EQ(world.number(2, Sql("SELECT COUNT(DISTINCT place) FROM sluice_share_batch")), 3);
}

}  // namespace
}  // namespace sluice::test
