// SPDX-License-Identifier: LGPL-3.0-or-later
// Members of gangs on simulated hosts, with outcomes that can be worked out. A look takes 5 s.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "db/memory/batch_plan_store.h"
#include "db/memory/gang_store.h"
#include "sched/sim/client.h"
#include "sched/sim/fleet.h"
#include "sched/sim/simulated_gangs.h"

namespace sluice::sim {
namespace {

using Fate = SimulatedGangs::Fate;
constexpr double kLook = 5, kMember = kLook / 3600;  ///< s; core-hours of one member in one look

/// A gang of four: an hour of work at speed 1, a checkpoint every 15 minutes.
class Hall : public testing::Test {
  protected:
    Hall() : store(db), plans(db), hall(store, plans) {}
    void make(bool restart = false) {
        SimulatedGangs::GangToMake gang{{1, 0}, {11, 12, 13, 14}, 3600, now, true, {4, 15, restart}};
        define(db, store);
        hall.add(gang);
    }
    static void define(MemoryDb& to, MemoryGangStore& gangs) {
        std::vector<GangJob> jobs;
        for (int m = 0; m < 4; ++m) {
            Workunit w;
            w.id = 11 + m, w.batch = 1, w.name = "w" + std::to_string(m), w.max_total_results = 10;
            to.workunits.put(w.id, w);
            jobs.push_back({{1, 0}, m, w.name});
        }
        gangs.define(jobs, 4);
    }
    /// It is sent to a host. Its name.
    static std::string instance(MemoryDb& to, Id workunit) {
        Result r;
        r.id = 1000 + static_cast<Id>(to.results.rows().size()), r.workunitid = workunit, r.batch = 1;
        r.hostid = r.id, r.server_state = ServerState::kInProgress, r.sent_time = static_cast<std::int64_t>(kStart);
        r.name = "r" + std::to_string(r.id);
        to.results.put(r.id, r);
        return r.name;
    }
    bool in_progress(int nth) const { return db.results.get(1000 + nth)->server_state == ServerState::kInProgress; }
    SimulatedGangs::Process come(Id workunit, double speed = 1, double fails_at = 0) {
        hall.visit(static_cast<std::size_t>(workunit));
        const auto p = hall.begin(workunit, instance(db, workunit), speed, fails_at);
        EXPECT_TRUE(p);
        hall.let_run(*p, true, now);
        return *p;
    }
    /// All four, at once.
    void all_come(double speed = 1) {
        for (const Id w : {11, 12, 13, 14}) come(w, w == 14 ? speed : 1);
    }
    void pass(double seconds) {
        for (const double until = now + seconds; now < until;) hall.look(now += kLook);
    }
    GangFigures figures() const { return hall.figures(); }

    MemoryDb db;
    MemoryGangStore store;
    MemoryBatchPlanStore plans;
    SimulatedGangs hall;
    double now = kStart;
};

TEST_F(Hall, FourAllThereComputeFromBeginningToEnd) {
    EXPECT_FALSE(hall.begin(99, "r", 1, 0)) << "no member's job";
    make();
    all_come();
    pass(3600);
    EXPECT_EQ(hall.fate(0), Fate::kOpen);
    EXPECT_TRUE(hall.take_hosts_to_wake().empty());
    pass(2 * kLook);
    for (SimulatedGangs::Process p = 0; p < 4; ++p) EXPECT_EQ(hall.fate(p), Fate::kDone);
    EXPECT_EQ(hall.take_hosts_to_wake(), (std::vector<std::size_t>{11, 12, 13, 14})) << "to hear that it is over";
    EXPECT_TRUE(store.find({1, 0})->ended);
    const GangFigures f = figures();
    EXPECT_EQ(f.done, 1);
    EXPECT_NEAR(f.useful, 4, 4 * kMember);
    EXPECT_EQ(f.lost, 0);
    EXPECT_EQ(f.breaks, 0);
    EXPECT_LE(f.idle(), 8 * kMember);
    EXPECT_NEAR(f.hours.at(0), 1, 0.005);
    pass(600);
    EXPECT_LE(figures().idle(), 8 * kMember) << "who has ended waits for nobody";
}

/// Off after 25 minutes, back four minutes later: ten minutes behind the checkpoint are lost, three wait for four.
TEST_F(Hall, WhenOneGoesAllGoBackToCheckpoint) {
    make();
    all_come();
    pass(1500);
    hall.let_run(3, false, now);
    EXPECT_NEAR(hall.fraction_done(0), 1500.0 / 3600, 0.003);
    pass(115);
    EXPECT_EQ(figures().lost, 0) << "nobody has noticed";
    pass(15);
    EXPECT_NEAR(hall.fraction_done(0), 0.25, 0.003);
    EXPECT_NEAR(figures().lost, 4 * 600 / 3600.0, 8 * kMember);
    EXPECT_EQ(figures().breaks, 1);
    pass(240 - 130);
    EXPECT_NEAR(figures().later_waits, 3 * 240 / 3600.0, 8 * kMember);
    hall.let_run(3, true, now);
    pass(2700 + 120);
    EXPECT_EQ(figures().done, 1);
    EXPECT_NEAR(figures().useful, 4, 4 * kMember);
    EXPECT_LE(figures().hours.at(0) * 3600, 1500 + 240 + 2700 + 90) << "they try again every minute at least";
}

TEST_F(Hall, WhoWaitsInVainLeavesProcessorToOthers) {
    make();
    for (const Id w : {11, 12, 13}) come(w);
    pass(295);
    EXPECT_EQ(hall.away_until(0), 0);
    pass(15);
    const double until = hall.away_until(0);
    EXPECT_EQ(until, std::ceil(now / 900) * 900) << "the next quarter of an hour, for all";
    EXPECT_EQ(hall.take_hosts_to_wake().size(), 3u);
    for (SimulatedGangs::Process p = 0; p < 3; ++p) hall.let_run(p, false, now);
    const double waited = figures().first_wait;
    EXPECT_NEAR(waited, 3 * 300 / 3600.0, 9 * kMember);
    pass(until - now);
    EXPECT_EQ(figures().first_wait, waited);
    come(14);
    for (SimulatedGangs::Process p = 0; p < 3; ++p) hall.let_run(p, true, now);
    pass(3700);
    EXPECT_EQ(figures().done, 1);
}

/// A host is lost after half an hour; its member begins on another one.
TEST_F(Hall, AMemberMovesOrAllBeginAgain) {
    for (const bool restart : {false, true}) {
        MemoryDb other;
        MemoryGangStore its_store(other);
        MemoryBatchPlanStore its_plans(other);
        SimulatedGangs its_hall(its_store, its_plans);
        const auto look = [&](double seconds) {
            for (const double until = now + seconds; now < until;) its_hall.look(now += kLook);
        };
        define(other, its_store);
        const auto begin = [&](Id w) { its_hall.let_run(*its_hall.begin(w, instance(other, w), 1, 0), true, now); };
        its_hall.add({{1, 0}, {11, 12, 13, 14}, 3600, now, true, {4, 15, restart}});
        for (const Id w : {11, 12, 13, 14}) begin(w);
        look(1805);
        its_hall.leave(3, now);
        begin(14);
        look(20);
        EXPECT_NEAR(its_hall.fraction_done(0), restart ? 0 : 0.5, 0.01);
        EXPECT_NEAR(its_hall.figures().lost, restart ? 2 : 0, 0.02);
        look(3700);
        EXPECT_EQ(its_hall.figures().done, 1);
        EXPECT_NEAR(its_hall.figures().useful, 4, 0.02);
    }
}

TEST_F(Hall, AllAreAsFastAsTheSlowest) {
    make();
    all_come(0.5);
    pass(7220);
    EXPECT_EQ(figures().done, 1);
    EXPECT_NEAR(figures().useful, 8, 8 * kMember);
    EXPECT_NEAR(figures().uneven, 3, 8 * kMember) << "three wait for half of the two hours";
}

TEST_F(Hall, MemberThatFailsStopsOthersAtOnce) {
    make();
    come(11), come(12), come(13);
    const auto bad = come(14, 1, 0.399);  // after 24 minutes: one checkpoint, and nine minutes
    pass(1445);
    EXPECT_EQ(hall.fate(bad), Fate::kFailed);
    EXPECT_EQ(hall.fate(0), Fate::kOpen);
    EXPECT_EQ(hall.take_hosts_to_wake(), (std::vector<std::size_t>{14}));
    EXPECT_NEAR(figures().lost, 4 * 540 / 3600.0, 12 * kMember);
}

/// Its host is off for four minutes: by then another one has its member, and the old one ends.
TEST_F(Hall, AfterTwoMinutesItIsCancelled) {
    make();
    all_come();
    pass(1000);
    hall.let_run(3, false, now);
    pass(230);
    EXPECT_TRUE(in_progress(3)) << "noticed after two minutes, missed for less than two";
    pass(30);
    EXPECT_FALSE(in_progress(3));
    const auto anew = come(14);
    pass(70);
    EXPECT_EQ(figures().later_waits > 3 * 330 / 3600.0, false);
    hall.let_run(3, true, now);
    pass(120);
    EXPECT_EQ(hall.fate(3), Fate::kGivenUp) << "and is not at fault";
    hall.leave(3, now);
    pass(2700 + 60);
    EXPECT_EQ(hall.fate(anew), Fate::kDone);
    EXPECT_EQ(figures().breaks, 1) << "the old one disturbed nobody";
}

/// An instance that was given up comes back, while another one has its member.
TEST_F(Hall, OfTwoProcessesTheWorkingOneStays) {
    make();
    all_come();
    pass(60);
    const auto anew = come(14);
    pass(120);
    EXPECT_EQ(figures().breaks, 0);
    hall.let_run(3, false, now);
    pass(180);
    EXPECT_EQ(hall.fate(3), Fate::kGivenUp) << "the other one has taken its place";
    EXPECT_EQ(hall.fate(anew), Fate::kOpen);
    hall.leave(3, now);
    pass(3700);
    EXPECT_EQ(hall.fate(anew), Fate::kDone);
}

/// The whole: six hosts that are always on, of speed 1, with other work; gang_planner and the scheduler as they are.
TEST(SimulatedGangs, HostsThatAreAlwaysOnComputeGangTogether) {
    Scenario s;
    s.days = 1;
    s.fleet.hosts = 6;
    s.fleet.speed_sigma = 0, s.fleet.lifetime_days = 0, s.fleet.error_rate = s.fleet.bad_hosts = 0;
    s.fleet.always_on = 1, s.fleet.daily = 0;
    s.apps.push_back({});
    s.users.push_back({});
    s.config_xml = "<next_rpc_delay>1800</next_rpc_delay>";
    WorkSpec gang;
    gang.kind = WorkSpec::Kind::kBatches;
    gang.gang.size = gang.jobs = 4, gang.poisson = false, gang.every_hours = 1e6, gang.size_hours = {2};
    WorkSpec others;
    others.keep = 20;
    s.work = {gang, others};
    const FleetResult r = simulate_fleet(s, {});
    const auto figure = [&](const char* name) { return r.more.at(name); };
    EXPECT_EQ(figure("gangs_submitted"), 1);
    EXPECT_EQ(figure("gangs_done"), 1);
    EXPECT_GT(figure("gang_hours_p50"), 2);
    EXPECT_LT(figure("gang_hours_p50"), 3) << "half an hour until all have asked, ten minutes until they meet";
    EXPECT_NEAR(figure("gang_core_hours_useful"), 8, 0.02);
    EXPECT_EQ(figure("gang_core_hours_lost"), 0);
    EXPECT_LT(figure("gang_idle_and_lost"), 0.02) << "within a minute of each other";
    EXPECT_EQ(to_json(simulate_fleet(s, {})), to_json(r));
    EXPECT_EQ(r.makespans_hours.size(), 1u) << "reported, and validated";
}

}  // namespace
}  // namespace sluice::sim
