// SPDX-License-Identifier: LGPL-3.0-or-later
// gang_planner's pass, on rows in memory.
#include "daemons/batches/gangs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "daemons/gang_hub/missed_members.h"
#include "db/memory/batch_plan_store.h"
#include "db/memory/gang_store.h"
#include "sluice/model/gang.h"
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
            w.xml_doc = "<workunit></workunit>";
            w.xml_doc = "<workunit></workunit>";
            db.workunits.put(id, w);
            jobs.push_back({{7, 0}, static_cast<int>(id) - 1, w.name});
            Host h;
            h.id = id, h.userid = 1, h.rpc_time = clock.now_sec() - (id == 1 ? 60 : 3600);
            db.hosts.put(id, h);
            Result r;
            r.id = 10 + id, r.workunitid = id, r.hostid = id, r.server_state = ServerState::kInProgress,
            r.name = w.name + "_0", r.create_time = clock.now_sec() - 3600;
            r.sent_time = clock.now_sec();  // its client loses it again and again
            db.results.put(r.id, r);
        }
        MemoryGangStore(db).define(jobs, 2);
    }
    std::vector<std::string> pass(double contact, bool dry_run = false) {
        MemoryGangLeaseStore leases(db);
        MemoryBatchPlanStore plans(db);
        return GangService(leases, plans, clock, {contact, 0, dry_run}).run();
    }
    bool runs(Id result) const { return db.results.get(result)->server_state == ServerState::kInProgress; }
    MemoryDb db;
    FakeClock clock;
};

TEST(GangService, AnAbsentHostLosesItsMember) {
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

class CountedLeases final : public MemoryGangLeaseStore {
  public:
    using MemoryGangLeaseStore::MemoryGangLeaseStore;
    std::int64_t version() override { return ++asked, MemoryGangLeaseStore::version(); }
    std::vector<GangMemberRow> open_members(int most) override {
        return ++asked, MemoryGangLeaseStore::open_members(most);
    }
    std::vector<GangLease> leases() override { return ++asked, MemoryGangLeaseStore::leases(); }
    int asked = 0;
};

TEST(GangService, WithoutGangsItAsksOneQuestion) {
    RunningGang with;
    MemoryDb db;
    CountedLeases leases(db);
    MemoryBatchPlanStore plans(db);
    GangService service(leases, plans, with.clock, {0, 0, false});
    service.run();
    leases.asked = 0;
    service.run();
    EXPECT_EQ(leases.asked, 1);
    for (Id id = 1; id <= 2; ++id) {
        Workunit w = *with.db.workunits.get(id);
        db.workunits.put(id, w);
    }
    db.batches.put(7, *with.db.batches.get(7));
    const std::vector<GangJob> jobs{{{7, 0}, 0, "w1"}, {{7, 0}, 1, "w2"}};
    MemoryGangStore(db).define(jobs, 2);
    EXPECT_THAT(service.run(), testing::Contains(testing::HasSubstr("waits for hosts")));
    EXPECT_THAT(service.run(), testing::Contains(testing::HasSubstr("waits for hosts")));
}

// Hosts came for it in vain, again and again.
TEST(GangService, AGangWithCutXmlIsNamed) {
    RunningGang w;
    w.db.results.change(12, [](Result& r) { r.server_state = ServerState::kOver, r.outcome = Outcome::kClientError; });
    w.pass(3600);
    EXPECT_FALSE(w.db.gang_waits.rows().empty());
    w.db.workunits.change(2, [](Workunit& wu) { wu.xml_doc = "<file_info/><workunit><file_ref>"; });
    EXPECT_THAT(w.pass(3600),
                testing::ElementsAre(testing::HasSubstr(
                    "gang 7.0: no host is asked to come for it: no reply can carry the XML of its workunits 2,")));
    EXPECT_TRUE(w.db.gang_waits.rows().empty());
    EXPECT_TRUE(w.runs(11)) << "nothing is cancelled: the XML may be written anew";
    EXPECT_EQ(MemoryGangStore(w.db).of_batch(7)->cut, std::vector<Id>{2});
    w.db.workunits.change(2, [](Workunit& wu) { wu.xml_doc = "<workunit></workunit>"; });
    w.pass(3600);
    EXPECT_FALSE(w.db.gang_waits.rows().empty());
    EXPECT_TRUE(MemoryGangStore(w.db).of_batch(7)->cut.empty());
}

// It was logged only.
TEST(GangService, WaitsAreKeptWithTheirStart) {
    RunningGang w;
    w.pass(0);
    EXPECT_TRUE(w.db.gang_waits.rows().empty()) << "it is at work";
    w.db.results.change(12, [](Result& r) { r.server_state = ServerState::kOver, r.outcome = Outcome::kClientError; });
    const std::int64_t began = w.clock.now_sec();
    w.pass(0, true);
    EXPECT_TRUE(w.db.gang_waits.rows().empty()) << "a dry run";
    w.pass(0);
    const GangWait expected{{7, 0}, 1, 0, began, began};
    ASSERT_NE(w.db.gang_waits.get({7, 0}), nullptr);
    EXPECT_EQ(*w.db.gang_waits.get({7, 0}), expected);
    EXPECT_EQ(expected.missing(), 1);
    w.clock.advance(600);
    w.pass(0);  // a planner that was started anew
    EXPECT_EQ(*w.db.gang_waits.get({7, 0}), expected);
    MemoryGangStore gangs(w.db);
    EXPECT_EQ(gangs.of_batch(7)->waits, std::vector<GangWait>{expected});
    w.db.results.change(12, [](Result& r) { r.server_state = ServerState::kInProgress; });
    w.pass(0);
    EXPECT_TRUE(gangs.of_batch(7)->waits.empty());
    EXPECT_TRUE(gangs.waiting(9).empty());
}

/// A pass writes no more than a thousand rows: who waits no more is not told to wait meanwhile.
TEST(GangService, FinishedWaitsAreForgottenFirst) {
    constexpr int kGangs = 1200, kOver = 100;
    MemoryDb db;
    FakeClock clock;
    Batch b;
    b.id = 7, b.state = BatchState::kInProgress;
    db.batches.put(7, b);
    std::vector<GangJob> jobs;
    for (Id id = 1; id <= 2 * kGangs; ++id) {
        Workunit w;
        w.id = id, w.batch = 7, w.appid = 1, w.name = "w" + std::to_string(id), w.max_total_results = 10;
        w.xml_doc = "<workunit></workunit>";
        db.workunits.put(id, w);
        jobs.push_back({{7, (id - 1) / 2}, static_cast<int>((id - 1) % 2), w.name});
    }
    MemoryGangStore(db).define(jobs, 2);
    MemoryGangLeaseStore leases(db);
    MemoryBatchPlanStore plans(db);
    GangService service(leases, plans, clock, {0, 0, false});
    service.run();
    EXPECT_EQ(db.gang_waits.rows().size(), 1000u);
    service.run();
    ASSERT_EQ(db.gang_waits.rows().size(), std::size_t{kGangs}) << "the rest with the next pass";

    for (Id gang = 0; gang < kGangs; ++gang) {
        if (gang < kOver) {
            db.workunits.change(2 * gang + 1, [](Workunit& w) { w.error_mask = kWuTooManyErrors; });
        } else {
            Result r;
            r.id = 10000 + gang, r.workunitid = 2 * gang + 1, r.hostid = 10000 + gang,
            r.server_state = ServerState::kInProgress, r.name = "r" + std::to_string(gang);
            db.results.put(r.id, r);
        }
    }
    service.run();
    EXPECT_EQ(db.gang_waits.rows().size(), std::size_t{kGangs - kOver});
    EXPECT_EQ(db.gang_waits.get({7, 0}), nullptr);
    service.run();
    for (const auto& [key, wait] : db.gang_waits.rows()) EXPECT_EQ(wait.members, 1) << key.second;
}

/// Once a minute.
TEST(GangService, GangAtWorkHasSparesNoSlower) {
    RunningGang w;
    for (Id id = 1; id <= 5; ++id) {
        Host h;
        h.id = id, h.userid = 1, h.rpc_time = w.clock.now_sec() - 60, h.expavg_credit = 1;
        h.on_frac = h.active_frac = 0.999, h.p_fpops = id == 3 ? 1e9 : 4e9;
        w.db.hosts.put(id, h);
        w.db.host_attempts.put(id, 1);
    }
    AppVersion v;
    v.id = v.appid = 1, v.platformid = 1;
    w.db.versions.put(1, v);
    w.pass(0);
    std::set<Id> spares;
    for (const auto& [host, lease] : w.db.gang_leases.rows()) spares.insert(host);
    EXPECT_EQ(spares, (std::set<Id>{4, 5})) << "one is wanted, twice as many are asked";
}

/// What the hub says of members of whom others wait.
TEST(MissedMembers, AbsentOnesAreCancelledAfterTheirTime) {
    const auto still_runs = [](const std::string& last_there, bool long_since, std::int64_t sent_before) {
        RunningGang w;
        MemoryGangStore gangs(w.db);
        MemoryBatchPlanStore plans(w.db);
        const MissedMember missed{1, last_there.empty() ? "" : gang_tag(last_there)};
        give_up_missed(gangs, plans, {7, 0}, {&missed, 1}, long_since, w.clock.now_sec() - 3600 + sent_before);
        EXPECT_TRUE(w.runs(11)) << "nobody waits for that one";
        return w.runs(12);
    };
    EXPECT_FALSE(still_runs("w2_0", false, 30)) << "it was there";
    EXPECT_TRUE(still_runs("w2_7", false, 3600)) << "that was another instance, before";
    EXPECT_TRUE(still_runs("", false, 3600)) << "nobody knows";
    EXPECT_FALSE(still_runs("", true, 600));
    EXPECT_TRUE(still_runs("", true, 599)) << "it may still download its files";
    EXPECT_FALSE(still_runs("w2_7", true, 600));
}

TEST(MissedMembers, TheHubKnowsInstancesByTheirTags) {
    RunningGang w;
    Result over = *w.db.results.get(11);
    over.id = 21, over.name = "w1_9", over.server_state = ServerState::kOver;
    w.db.results.put(21, over);
    MemoryGangStore gangs(w.db);
    std::map<std::string, bool> found;
    for (const SeatInstance& i : seat_instances(gangs, {{7, 0}, 0})) found[i.tag] = i.in_progress;
    EXPECT_EQ(found, (std::map<std::string, bool>{{gang_tag("w1_0"), true}, {gang_tag("w1_9"), false}}));
    EXPECT_TRUE(seat_instances(gangs, {{7, 0}, 5}).empty());
    EXPECT_TRUE(seat_instances(gangs, {{8, 0}, 0}).empty());
}

}  // namespace
}  // namespace sluice::test
