// SPDX-License-Identifier: LGPL-3.0-or-later
// What becomes of a gang that is at work: spares stand by, and have the member of one that is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sluice/model/gang.h"
#include "tests/unit/gang/gang_world.h"

namespace sluice::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

/// Four run, host 5 is the spare: what happens from then on, in passes ten seconds apart.
struct AtWork : GangWorld {
    explicit AtWork(int spares = 1) : GangWorld(4 + spares) {
        pass();
        now += 5;
        contact(all());
        now = kNow + 600;
        contact(all());
        pass();
        fetch();
        pass();
    }
    /// Those with a lease come when the scheduler has told them to.
    void run(double seconds) {
        for (const double until = now + seconds; now < until;) {
            now += 10;
            for (GangLease& l : facts.leases) {
                double& next = told[l.host];
                if (now < next) continue;
                l.heard = now, ++came;
                next = now + next_gang_contact(l.start, now);
            }
            pass();
        }
    }
    std::map<Id, double> told;
    int came = 0;
};

TEST(GangPlan, SpareStandsByAndHasLostMemberTogether) {
    AtWork w;
    ASSERT_EQ(w.all(), (std::set<Id>{5}));
    w.run(3600);
    ASSERT_EQ(w.all(), (std::set<Id>{5})) << "it is not dropped, and not sent anything";
    EXPECT_THAT(w.given(), IsEmpty());
    EXPECT_NEAR(w.came, 2 * 3600 / 120, 8) << "every two minutes, and 20 s later to hear when it is to come next";
    EXPECT_EQ(w.facts.leases[0].lapses, 0);
    w.facts.gangs[0].missing = {102};
    w.now += 10;
    w.pass();
    for (int i = 0; w.given().empty() && i < 2; ++i) w.run(10);  // it may be about to learn when to come next
    ASSERT_THAT(w.given(), testing::ElementsAre(102));
    EXPECT_LE(static_cast<double>(w.facts.leases[0].start) - w.now, 120);
    w.run(static_cast<double>(w.facts.leases[0].start) + 30 - w.now);
    EXPECT_THAT(w.given(), testing::ElementsAre(102)) << "it has time to fetch it";
    w.fetch();
    w.pass();
    EXPECT_THAT(w.facts.leases, IsEmpty());
}

TEST(GangPlan, SpareThatDoesNotComeHasSuccessor) {
    AtWork w;
    for (Id id = 11; id <= 20; ++id) w.facts.hosts.push_back(steady(id));
    for (int i = 0; i < 200 && w.all().contains(5); ++i) {
        w.now += 10;  // nobody comes
        w.pass();
    }
    ASSERT_FALSE(w.all().contains(5));
    EXPECT_LE(w.now - kNow, 620 + 1200);
    const auto end = std::find_if(w.plan.end.begin(), w.plan.end.end(), [](auto& l) { return l.host == 5; });
    ASSERT_NE(end, w.plan.end.end());
    EXPECT_FALSE(end->blamed) << "it was asked every two minutes, and not wanted yet";
    w.run(1300);
    EXPECT_THAT(w.all(), SizeIs(1)) << "as many as are wanted, of two that were asked";
    w.facts.gangs.clear();
    w.pass();
    EXPECT_THAT(w.facts.leases, IsEmpty());
}

TEST(GangPlan, SpareThatComesLateNowAndThenStays) {
    AtWork w;
    for (int i = 0; i < 12; ++i) {
        w.told[5] = w.now + 300;  // it was busy
        w.run(600);
    }
    EXPECT_EQ(w.all(), (std::set<Id>{5}));
}

/// It polls a moment after it was given a member, before its time has come, and is switched off.
TEST(GangPlan, AnAbsentHostIsNotUnfit) {
    AtWork w;
    w.run(130);
    ASSERT_EQ(w.all(), (std::set<Id>{5}));
    w.facts.gangs[0].missing = {102};
    while (w.given().empty()) w.run(10);
    w.now = std::max(w.now, static_cast<double>(w.facts.leases[0].since));
    w.facts.leases[0].heard = std::min(w.now, static_cast<double>(w.facts.leases[0].start) - 61);
    w.facts.leases[0].since = static_cast<std::int64_t>(w.facts.leases[0].heard);
    w.now = static_cast<double>(w.facts.leases[0].start) + 181;
    w.pass();
    EXPECT_EQ(w.all(), (std::set<Id>{5}));
    EXPECT_EQ(w.facts.leases[0].lapses, 1);
    EXPECT_THAT(w.plan.end, IsEmpty());
}

TEST(GangPlan, SpareGoesToGangThatLacksHost) {
    AtWork w;
    w.facts.gangs.push_back(four(13));
    w.facts.gangs[1].missing = {201, 202, 203, 204};
    for (Id id = 21; id <= 23; ++id) w.facts.hosts.push_back(steady(id));
    std::set<Id> of_13;
    for (int i = 0; i < 100; ++i) {
        w.run(10);
        if (!w.all().contains(5)) w.facts.hosts.push_back(steady(5));
        of_13.clear();
        for (const GangLease& l : w.facts.leases)
            if (l.gang.batch == 13) of_13.insert(l.host);
        if (of_13.size() == 4) break;
    }
    EXPECT_EQ(of_13, (std::set<Id>{5, 21, 22, 23}));
    EXPECT_LE(w.now - kNow, 620 + 700);
}

TEST(GangPlan, ASpareIsFreeAfterTenMinutes) {
    AtWork w;
    w.facts.gangs.push_back(four(13));
    w.facts.leases[0].since = static_cast<std::int64_t>(w.now) - 590;
    w.pass();
    EXPECT_EQ(w.all(), (std::set<Id>{5}));
    w.now += 20;
    w.pass();
    EXPECT_THAT(w.all(), IsEmpty());
}

TEST(GangPlan, MembersThatAreMissingComeBeforeSpares) {
    AtWork w(0);
    ASSERT_THAT(w.all(), IsEmpty());
    w.facts.gangs.push_back(four(13));
    w.facts.gangs[1].missing = {201, 202, 203, 204};
    for (Id id = 21; id <= 24; ++id) w.facts.hosts.push_back(steady(id));
    w.pass();
    for (const GangLease& l : w.facts.leases) EXPECT_EQ(l.gang.batch, 13);
    EXPECT_THAT(w.all(), SizeIs(4));
}

TEST(GangPlan, RecentlyFailedHostsComeLast) {
    GangWorld w(0);
    for (Id id = 1; id <= 12; ++id) {
        GangHost h = steady(id);
        if (id <= 6) h.good_run = static_cast<int>(id) - 1;  // 0 to 5 jobs since
        w.facts.hosts.push_back(h);
    }
    w.pass();
    EXPECT_EQ(w.all(), (std::set<Id>{6, 7, 8, 9, 10, 11, 12}));
    GangWorld few(0);
    for (Id id = 1; id <= 6; ++id) {
        GangHost h = steady(id);
        h.good_run = id <= 3 ? 0 : GangHost::kNeverFailed;
        few.facts.hosts.push_back(h);
    }
    few.pass();
    EXPECT_THAT(few.all(), SizeIs(6)) << "five are wanted, and there are three others";
}

/// Their pace is the slowest host's that is asked already.
TEST(GangPlan, LateHostsAreTwiceAsFastAtMost) {
    GangWorld w(0);
    for (Id id = 1; id <= 3; ++id) w.facts.hosts.push_back(of_speed(id, 1e9));
    w.pass();
    ASSERT_THAT(w.all(), SizeIs(3));
    for (Id id = 11; id <= 20; ++id) w.facts.hosts.push_back(of_speed(id, 1e9));
    for (Id id = 21; id <= 30; ++id) w.facts.hosts.push_back(of_speed(id, 4e9));
    w.pass();
    EXPECT_THAT(w.all(), SizeIs(10));
    EXPECT_LE(*w.all().rbegin(), 20) << "those of 4 GFLOPS would wait for the others";
}

/// Who is asked while others are at work.
TEST(GangPlan, AReplacementIsNoSlowerThanOthers) {
    GangWorld w(0);
    w.facts.gangs[0].missing = {102};
    w.facts.gangs[0].slowest = 2e9;
    for (Id id = 1; id <= 10; ++id) w.facts.hosts.push_back(of_speed(id, 1.9e9));
    for (Id id = 11; id <= 12; ++id) w.facts.hosts.push_back(of_speed(id, 2.1e9));
    w.pass();
    EXPECT_EQ(w.all(), (std::set<Id>{11, 12})) << "as many as are wanted, a spare and one more";
    GangWorld slow(0);
    slow.facts.gangs = w.facts.gangs;
    for (Id id = 1; id <= 10; ++id) slow.facts.hosts.push_back(of_speed(id, 1.9e9));
    slow.pass();
    EXPECT_THAT(slow.all(), SizeIs(4)) << "better than none";
}

}  // namespace
}  // namespace sluice::test
