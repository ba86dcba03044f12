// SPDX-License-Identifier: LGPL-3.0-or-later
// Which hosts come when for a gang, and who of those that came gets what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "daemons/batches/gangs.h"
#include "tests/unit/gang/gang_world.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(GangPlan, HowLikelyAHostStaysOn) {
    EXPECT_EQ(stay_on(steady(1), 0, kNow), 1);
    GangHost day = steady(1);
    day.on_frac = 0.5, day.active_frac = 1;  // as long on as off: twelve hours
    EXPECT_NEAR(stay_on(day, 12 * 3600, kNow), std::exp(-1), 1e-9);
    EXPECT_GT(stay_on(steady(1), 3600, kNow), 0.99);
    day.lapsed = 4;
    EXPECT_NEAR(stay_on(day, 0, kNow), 0.5, 1e-9) << "as often as it came";
    day.kept = 4;
    EXPECT_NEAR(stay_on(day, 0, kNow), 8.0 / 12, 1e-9);
    for (const double wrong : {-1.0, 0.0, 1.0, 7.0}) {
        day.on_frac = wrong;
        EXPECT_GE(stay_on(day, 1e9, kNow), 0);
        EXPECT_LE(stay_on(day, 0, kNow), 1);
    }
    // 1 - min(.5, 1.5/g)
    EXPECT_EQ(least_stay_on(2), 0.5);
    EXPECT_EQ(least_stay_on(4), 0.625);
    EXPECT_NEAR(least_stay_on(32), 0.953, 0.001);
}

TEST(GangPlan, TwiceAsManyHostsAreAsked) {
    GangWorld w(20);
    w.pass();
    EXPECT_THAT(w.facts.leases, SizeIs(10)) << "four and a spare, twice";
    for (const GangLease& l : w.facts.leases) {
        EXPECT_EQ(l.start, kNow + 600);
        EXPECT_EQ(l.workunit, 0);
    }
    w.now += 10;
    w.contact({1, 2, 3, 4, 5});
    const auto before = w.facts.leases;
    w.pass();
    EXPECT_EQ(w.facts.leases, before) << "nothing new";
}

TEST(GangPlan, WhenEnoughAreThereEachGetsMemberOnce) {
    GangWorld w;
    w.pass();
    w.now += 100;
    w.contact(w.all());  // told
    w.pass();
    w.now = kNow + 590;
    w.contact({1, 2, 3});
    w.pass();
    EXPECT_THAT(w.given(), IsEmpty()) << "three are not four";
    w.now = kNow + 610;
    w.contact({4, 5});
    w.pass();
    EXPECT_THAT(w.given(), testing::UnorderedElementsAre(101, 102, 103, 104));
    w.now += 10;
    w.pass();
    EXPECT_THAT(w.given(), SizeIs(4)) << "not doubled";
    w.fetch();
    w.pass();
    EXPECT_EQ(w.all(), (std::set<Id>{5})) << "the spare stands by";
    EXPECT_EQ(std::count_if(w.plan.end.begin(), w.plan.end.end(), [](const GangLease& l) { return l.has_it; }), 4);
    EXPECT_TRUE(std::none_of(w.plan.end.begin(), w.plan.end.end(), [](const GangLease& l) { return l.blamed; }));
}

TEST(GangPlan, WhoHasBeenOnForLongStaysOn) {
    GangHost h = steady(1);
    h.on_frac = 0.98, h.active_frac = 1;
    const double week = 7 * 86400;
    const auto stays = [&](double age, double seconds) {
        h.on_since = static_cast<std::int64_t>(kNow - age);
        return stay_on(h, seconds, kNow);
    };
    EXPECT_LT(stays(60, 7200), stays(86400, 7200));
    EXPECT_LT(stays(86400, 7200), stays(week, 7200));
    EXPECT_EQ(stays(3600, 0), 1);
    // A Weibull of shape .7 and mean 24.5 days, 588 h: its scale is that over Γ(1 + 1/.7), 464.5 h.
    EXPECT_NEAR(stays(1, 10 * 3600), std::exp(-std::pow(10 / 464.5, 0.7)), 1e-3);
    h.on_frac = 0.15;  // and, it says, on since 1970
    h.on_since = 100;
    EXPECT_LT(stay_on(h, 5 * 3600, kNow), 0.5);
    h.on_frac = 0.98;
    h.on_since = static_cast<std::int64_t>(kNow) + 500;  // a wrong clock
    EXPECT_LT(stay_on(h, 7200, kNow), 1);
    h.on_since = 0;
    EXPECT_NEAR(stay_on(h, 58.8 * 3600, kNow), std::exp(-0.1), 1e-6) << "who does not say is as the others are";
}

TEST(GangPlan, TooFewComeAgainTwice) {
    GangWorld w(4);
    w.pass();
    EXPECT_THAT(w.facts.leases, SizeIs(4));
    w.now += 5;
    w.contact(w.all());
    for (int round = 1; round <= 3; ++round) {
        w.now = kNow + 600 * round;
        w.contact({1, 2, 3});
        w.now += 61;
        w.pass();
        EXPECT_THAT(w.given(), IsEmpty());
        for (const GangLease& l : w.facts.leases) EXPECT_EQ(l.start, kNow + 600 * (round + 1));
    }
    EXPECT_EQ(w.all(), (std::set<Id>{1, 2, 3}));
    ASSERT_THAT(w.plan.end, SizeIs(1));
    EXPECT_EQ(w.plan.end[0].host, 4);
    EXPECT_TRUE(w.plan.end[0].blamed);
    // Nobody planned for a day: the next time is in the future all the same.
    w.now += 86400;
    w.pass();
    for (const GangLease& l : w.facts.leases) EXPECT_GT(l.start, w.now - 60);
}

TEST(GangPlan, WhoNeverHeardOfItIsNotBlamed) {
    GangWorld w(4);
    w.pass();
    w.now = kNow + 661;
    w.pass();
    EXPECT_THAT(w.facts.leases, SizeIs(4));
    for (const GangLease& l : w.facts.leases) EXPECT_EQ(l.lapses, 0);
    w.now = kNow + 2 * 3600;
    w.pass();
    EXPECT_THAT(w.plan.end, SizeIs(4));
    for (const GangLease& l : w.plan.end) EXPECT_FALSE(l.blamed);
}

TEST(GangPlan, SpareTakesMemberThatIsNotFetched) {
    GangWorld w(5);
    w.pass();
    w.now += 5;
    w.contact(w.all());
    w.now = kNow + 600;
    w.contact(w.all());
    w.pass();
    ASSERT_THAT(w.given(), SizeIs(4));
    Id absent = 0, its_job = 0;
    for (GangLease& l : w.facts.leases)
        if (l.workunit != 0 && absent == 0) absent = l.host, its_job = l.workunit;
    for (GangLease& l : w.facts.leases) l.has_it = l.workunit != 0 && l.host != absent;
    w.facts.gangs[0].missing = {its_job};
    w.now = kNow + 700;
    w.pass();
    EXPECT_THAT(w.given(), SizeIs(1)) << "still the absent one's";
    w.now = kNow + 721;
    w.pass();
    ASSERT_THAT(w.given(), SizeIs(1));
    for (const GangLease& l : w.facts.leases) {
        EXPECT_TRUE(l.workunit == 0 || l.host != absent);
        EXPECT_EQ(l.lapses, l.host == absent ? 1 : 0);
    }
}

TEST(GangPlan, OnlySteadyUntriedHosts) {
    GangWorld w(0);
    for (Id id = 1; id <= 8; ++id) {
        GangHost h = steady(id);
        if (id <= 4) h.on_frac = 0.05;  // some 38 minutes at a time
        w.facts.hosts.push_back(h);
    }
    w.facts.gangs[0].hosts_tried = {8};
    w.pass();
    EXPECT_EQ(w.all(), (std::set<Id>{5, 6, 7}));
    EXPECT_THAT(w.plan.said,
                testing::Contains(HasSubstr(
                    "waits for hosts of its app's platforms that stay on with a probability of 0.62: 3 of 5")));
}

TEST(GangPlan, TheFirstGangChoosesOneLeaseAHost) {
    GangWorld w(13);
    w.facts.gangs = {four(20), four(12)};
    w.pass();
    EXPECT_THAT(w.all(), SizeIs(13));
    EXPECT_EQ(std::count_if(w.facts.leases.begin(), w.facts.leases.end(), [](auto& l) { return l.gang.batch == 20; }),
              10);
}

TEST(GangPlan, LeasesOfAGangThatIsOverEnd) {
    GangWorld w;
    w.pass();
    w.facts.gangs.clear();
    w.pass();
    EXPECT_THAT(w.facts.leases, IsEmpty());
    EXPECT_THAT(w.plan.end, SizeIs(10));
    for (const GangLease& l : w.plan.end) EXPECT_FALSE(l.blamed);
}

TEST(GangPlan, AGangWithoutAMemberIsCancelled) {
    std::vector<GangMemberRow> rows;
    for (Id id = 1; id <= 11; ++id)
        rows.push_back({{12, (id - 1) / 4}, 4, id, kAnyPlatform, 1e12, id == 6, id == 2, false});
    const GangsToLookAt found = gangs_of(rows);
    ASSERT_THAT(found.gangs, SizeIs(1));
    EXPECT_THAT(found.gangs[0].missing, testing::ElementsAre(1, 3, 4));
    ASSERT_THAT(found.hopeless, SizeIs(2));
    EXPECT_THAT(found.hopeless[0].workunits, testing::ElementsAre(5, 7, 8));
    EXPECT_EQ(found.hopeless[0].why,
              "gang 12.1: can't go on: of 4 members 1 have failed, 0 are not there: it is cancelled");
    EXPECT_EQ(found.hopeless[1].why,
              "gang 12.2: can't go on: of 4 members 0 have failed, 1 are not there: it is cancelled");
}

TEST(GangPlan, AnEndedGangsLostResultIsCancelled) {
    const std::vector<GangMemberRow> rows{{{12, 0}, 4, 1, kAnyPlatform, 1e12, false, true, true},
                                          {{12, 0}, 4, 3, kAnyPlatform, 1e12, false, false, true},
                                          {{12, 1}, 4, 5, kAnyPlatform, 1e12, false, true, true}};
    const GangsToLookAt found = gangs_of(rows);
    EXPECT_THAT(found.gangs, IsEmpty());
    ASSERT_THAT(found.hopeless, SizeIs(1));
    EXPECT_THAT(found.hopeless[0].workunits, testing::ElementsAre(3));
}

TEST(GangPlan, HostsAskedLaterComeAtTimesOfFirst) {
    GangWorld w(3);
    w.pass();
    const double told = w.now += 500;
    w.contact(w.all());
    for (Id id = 4; id <= 6; ++id) w.facts.hosts.push_back(steady(id));
    w.pass();
    ASSERT_THAT(w.all(), SizeIs(6));
    // All know it; each comes at the time that it was told, and asks again while it is there.
    for (w.now = told + 10; w.now < told + 2000 && w.given().empty(); w.now += 10) {
        for (GangLease& l : w.facts.leases)
            if (l.heard < told + 10 || w.now >= static_cast<double>(l.start)) l.heard = w.now;
        w.pass();
    }
    EXPECT_THAT(w.given(), SizeIs(4)) << "they are never there at the same time";
}

TEST(GangPlan, ASpareHasTimeToFetch) {
    GangWorld w(5);
    w.pass();
    w.now += 5;
    w.contact(w.all());
    w.now = kNow + 600;
    w.contact(w.all());
    w.pass();
    Id absent = 0, its_job = 0, spare = 0;
    for (GangLease& l : w.facts.leases) {
        if (l.workunit == 0) spare = l.host;
        if (l.workunit != 0 && absent == 0) absent = l.host, its_job = l.workunit;
        l.has_it = l.workunit != 0 && l.host != absent;
    }
    w.facts.gangs[0].missing = {its_job};
    w.now = kNow + 715;
    w.contact({spare});
    for (w.now = kNow + 721; w.now < kNow + 740; w.now += 10) {  // it asks every 20 s
        w.pass();
        for (const GangLease& l : w.facts.leases) {
            EXPECT_EQ(l.workunit, l.host == spare ? its_job : 0) << w.now - kNow;
            EXPECT_TRUE(l.host != spare || l.lapses == 0);
        }
    }
}

TEST(GangPlan, AHostAboutToFetchGetsNoOther) {
    GangWorld w(4);
    w.pass();
    w.now += 5;
    w.contact(w.all());
    w.now = kNow + 600;
    w.contact(w.all());
    w.pass();
    const std::vector<GangLease> given = w.facts.leases;
    ASSERT_THAT(w.given(), SizeIs(4));
    w.facts.leases[0].has_it = true;
    w.pass();
    w.facts.gangs[0].hosts_tried = {given[0].host};  // and it failed
    for (const double later : {610.0, 680.0}) {
        w.now = kNow + later;
        w.contact(w.all());
        w.pass();
        ASSERT_THAT(w.facts.leases, SizeIs(3)) << later;
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_EQ(w.facts.leases[i].workunit, given[i + 1].workunit) << later;
            EXPECT_EQ(w.facts.leases[i].start, given[i + 1].start) << later << ": it is not sent away";
        }
    }
}

TEST(GangPlan, AHostNotServedIsNotAskedAgain) {
    GangWorld w(5);
    w.pass();
    w.now += 5;
    w.contact(w.all());
    w.now = kNow + 600;
    w.contact(w.all());
    w.pass();
    Id refused = 0, its_job = 0;
    for (GangLease& l : w.facts.leases) {
        if (l.workunit != 0 && refused == 0) refused = l.host, its_job = l.workunit;
        l.has_it = l.workunit != 0 && l.host != refused;
    }
    w.facts.gangs[0].missing = {its_job};
    for (w.now = kNow + 620; w.now <= kNow + 720; w.now += 20) w.contact({refused});
    w.now = kNow + 721;
    w.pass();
    const auto end = std::find_if(w.plan.end.begin(), w.plan.end.end(), [&](auto& l) { return l.host == refused; });
    ASSERT_NE(end, w.plan.end.end());
    EXPECT_TRUE(end->unfit);
    EXPECT_TRUE(end->blamed);
    EXPECT_THAT(w.plan.said, testing::Contains(HasSubstr("was not sent its member")));
    EXPECT_FALSE(w.all().contains(refused));
}

TEST(GangPlan, AHostHasOneMemberOfAGang) {
    GangWorld w(5);
    w.pass();
    w.now += 5;
    w.contact(w.all());
    w.now = kNow + 600;
    w.contact(w.all());
    // What it was given when the planner thought it was gone has reached it all the same.
    w.facts.gangs[0].missing = {102};
    w.facts.gangs[0].hosts_tried = {1, 2, 3, 4};
    w.pass();
    EXPECT_THAT(w.given(), testing::ElementsAre(102));
    EXPECT_EQ(w.all(), (std::set<Id>{5}));
}

TEST(GangPlan, ASentMemberGoesToNobodyElse) {
    GangWorld w(5);
    w.pass();
    w.now += 5;
    w.contact(w.all());
    w.now = kNow + 600;
    w.contact(w.all());
    w.pass();
    for (GangLease& l : w.facts.leases) {
        l.has_it = l.workunit != 0;
        if (l.has_it) w.facts.gangs[0].missing = {l.workunit};  // the last one
    }
    w.pass();
    EXPECT_THAT(w.given(), IsEmpty());
}

TEST(GangPlan, OnlyHostsOfAPlatformWithAVersion) {
    GangWorld w(6);
    w.facts.gangs[0].platforms = platform_bit(2) | platform_bit(3);
    for (GangHost& h : w.facts.hosts) h.platforms = h.id <= 3 ? platform_bit(h.id) : platform_bit(1);
    w.facts.hosts.back().platforms = kAnyPlatform;
    w.pass();
    EXPECT_EQ(w.all(), (std::set<Id>{2, 3, 6}));
    w.facts.gangs[0].platforms = 0;
    w.facts.leases.clear();
    w.pass();
    EXPECT_THAT(w.plan.said, testing::Contains(HasSubstr("waits for hosts (its app has no version)")));
}

/// All get on as fast as the slowest: one that is ten times slower would cost the others nine tenths of their time.
TEST(GangPlan, TheFastestEqualHostsAreAsked) {
    GangWorld w(0);
    for (Id id = 1; id <= 10; ++id) w.facts.hosts.push_back(of_speed(id, 1e9));
    for (Id id = 11; id <= 16; ++id) w.facts.hosts.push_back(of_speed(id, 4e9));
    for (Id id = 21; id <= 30; ++id) w.facts.hosts.push_back(of_speed(id, 1e8));
    w.facts.hosts.push_back(of_speed(41, 2e10));
    w.pass();
    EXPECT_EQ(w.all(), (std::set<Id>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})) << "twice as many as are wanted, five";

    GangWorld few(0);
    for (Id id = 11; id <= 16; ++id) few.facts.hosts.push_back(of_speed(id, 4e9));
    few.facts.hosts.push_back(of_speed(21, 1e8));
    few.pass();
    EXPECT_EQ(few.all(), (std::set<Id>{11, 12, 13, 14, 15, 16})) << "as many as are wanted";
}

/// Whom a slow pace keeps for too long is not there at the end.
TEST(GangPlan, WhoStaysOnLongEnoughDependsOnSlowest) {
    GangWorld w(0);
    for (Id id = 1; id <= 5; ++id) w.facts.hosts.push_back(of_speed(id, 1e8));  // ten hours
    for (Id id = 11; id <= 14; ++id) {
        GangHost h = of_speed(id, 1.9e8);  // five hours, if there were enough of them
        h.on_frac = 0.561;                 // it stays on for seven
        w.facts.hosts.push_back(h);
    }
    w.pass();
    EXPECT_EQ(w.all(), (std::set<Id>{1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace sluice::test
