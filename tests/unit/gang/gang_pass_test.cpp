// gang_planner's pass, on rows in memory.
#include "daemons/gang_planner/gang_pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/memory/gang_store.h"
#include "db/memory/plan_store.h"
#include "tests/support/fake_clock.h"

namespace sluice::test {
namespace {

/// A gang of two that runs on hosts 1 and 2; host 2 was heard of an hour ago.
struct RunningGang {
    RunningGang() {
        Batch b;
        b.id = 7, b.state = BatchState::kInProgress;
        db.batches.put(7, b);
        std::vector<GangJob> jobs;
        for (Id id = 1; id <= 2; ++id) {
            Workunit w;
            w.id = id, w.batch = 7, w.appid = 1, w.name = "w" + std::to_string(id), w.max_total_results = 10;
            db.workunits.put(id, w);
            jobs.push_back({{7, 0}, static_cast<int>(id) - 1, w.name});
            Host h;
            h.id = id, h.userid = 1, h.rpc_time = clock.now_sec() - (id == 1 ? 60 : 3600);
            db.hosts.put(id, h);
            Result r;
            r.id = 10 + id, r.workunitid = id, r.hostid = id, r.server_state = ServerState::kInProgress,
            r.name = w.name;
            db.results.put(r.id, r);
        }
        MemoryGangStore(db).define(jobs, 2);
    }
    std::vector<std::string> pass(double contact, bool dry_run = false) {
        MemoryGangLeaseStore leases(db);
        MemoryPlanStore plans(db);
        return GangPass(leases, plans, clock, contact, dry_run).run();
    }
    bool runs(Id result) const { return db.results.get(result)->server_state == ServerState::kInProgress; }
    MemoryDb db;
    FakeClock clock;
};

TEST(GangPass, AHostThatDoesNotComeWhenAllDoLosesItsMember) {
    RunningGang w;
    w.pass(0);
    w.pass(3600);
    EXPECT_TRUE(w.runs(12)) << "nobody knows, or it is not late yet";
    EXPECT_THAT(w.pass(1800, true), testing::Contains(testing::HasSubstr("host 2 was not heard of for 3600 s")));
    EXPECT_TRUE(w.runs(12)) << "it was only said";
    w.pass(1800);
    EXPECT_FALSE(w.runs(12));
    EXPECT_EQ(w.db.results.get(12)->outcome, Outcome::kNoReply);
    EXPECT_TRUE(w.runs(11));
    EXPECT_THAT(w.pass(1800), testing::Contains(testing::HasSubstr("waits for hosts"))) << "another one gets it";
}

}  // namespace
}  // namespace sluice::test
