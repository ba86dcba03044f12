// SPDX-License-Identifier: LGPL-3.0-or-later
// Which instance of a member may be at the hub, and whom the others wait for in vain.
#include <gmock/gmock.h>

#include "tests/unit/gang/hub_fixture.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(GangHubTest, ACancelledMemberIsToldAndMakesRoom) {
    const LinkId m = meet({300, 300, 300, 300});
    gangs.seats[{{12, 0}, 2}] = {{gang_tag("a"), false}, {gang_tag("b"), true}};
    // It is at work and has been heard of a moment ago, but the project has given its place to another one.
    const LinkId anew = come({12, 0}, 2, 0, "b");
    EXPECT_EQ(told(m + 2), "GIVEN_UP another host computes this member");
    EXPECT_EQ(told(m), "EXIT 300 member 2 has come anew");
    EXPECT_EQ(told(anew), "");
    hub.tick(now);
    EXPECT_EQ(told(anew), "") << "it has just come";
    for (const int i : {0, 1, 3}) come({12, 0}, i, 300);
    EXPECT_EQ(told(anew), "START 4 0");
    // The old one comes back with all that it has, after the next break.
    hub.drop(anew, "its link is broken", now);
    EXPECT_EQ(refused(hello({12, 0}, 2, 300)), "GIVEN_UP another host computes this member");
    gangs.seats[{{12, 0}, 3}] = {};
    EXPECT_THAT(told(come({12, 0}, 3, 300)), HasSubstr("RETRY the project does not know this job yet"));
    EXPECT_EQ(hub.gangs(), 0u) << "nobody waits";
}

/// END would let it exit with 0 and no result, which counts against its host.
TEST_F(GangHubTest, CancelledMemberIsToldAfterEndToo) {
    gangs.gangs.at({12, 0}).ended = true;
    gangs.seats[{{12, 0}, 2}] = {{gang_tag("a"), false}, {gang_tag("b"), true}};
    EXPECT_EQ(refused(hello({12, 0}, 2, 300)), "GIVEN_UP another host computes this member");
    EXPECT_EQ(refused(hello({12, 0}, 2, 300, "b")), "END") << "it did not hear the end";
    gangs.seats[{{12, 0}, 2}] = {};
    EXPECT_EQ(refused(hello({12, 0}, 2, 300)), "END") << "its rows are purged";
}

TEST_F(GangHubTest, OfTwoInstancesTheWorkingOneStays) {
    const LinkId m = meet();
    gangs.seats[{{12, 0}, 2}] = {{gang_tag("a"), true}, {gang_tag("b"), true}};
    EXPECT_THAT(told(come({12, 0}, 2, 0, "b")), HasSubstr("RETRY another process is at work"));
    gangs.seats[{{12, 0}, 2}] = {{gang_tag("b"), true}};  // a node that lags behind
    EXPECT_THAT(told(come({12, 0}, 2, 0, "b")), HasSubstr("RETRY another process is at work"));
    EXPECT_EQ(told(m + 2), "");
}

TEST_F(GangHubTest, AMemberThatStaysAwayIsCancelled) {
    const LinkId m = meet();
    hub.drop(m + 2, "its link is broken", now);
    std::vector<LinkId> waiting;
    for (const int i : {0, 1, 3}) waiting.push_back(come({12, 0}, i));
    wait(waiting, 110);
    EXPECT_THAT(gangs.given_up, ElementsAre());
    wait(waiting, 10);
    EXPECT_THAT(gangs.given_up, ElementsAre("12.0 2a"));
    wait(waiting, 50);
    EXPECT_THAT(gangs.given_up, testing::SizeIs(1)) << "once a minute";
    wait(waiting, 130);
    EXPECT_THAT(gangs.given_up, ElementsAre("12.0 2a", "12.0 2a", "12.0 2a", "12.0 2a long since"));
    EXPECT_EQ(told(waiting[0]), "EXIT 0 3 of 4 members came within 300 s");

    // Of a gang that it has not seen yet it knows nobody.
    gangs.given_up.clear();
    waiting = {come({12, 1}, 0)};
    wait(waiting, 120);
    EXPECT_THAT(gangs.given_up, ElementsAre("12.1 1"));
}

/// All come at the same quarter of an hour, a little after each other; one has waited for them alone.
TEST_F(GangHubTest, StillOnItsWayIsNotGivenUp) {
    gangs.gangs[{14, 0}] = {8};
    std::vector<LinkId> here;
    const auto comes = [&](int member) { here.push_back(come({14, 0}, member)); };
    for (int m = 0; m < 8; ++m) comes(m);
    for (int m = 7; m > 0; --m) hub.drop(here[static_cast<std::size_t>(m)], "its link is broken", now);
    here.clear();
    wait(here, 800, 5);
    comes(0);
    wait(here, 100, 5);
    for (int m = 1; m < 7; ++m) comes(m), wait(here, 25, 5);
    EXPECT_THAT(gangs.given_up, ElementsAre());
    wait(here, 80, 5);
    EXPECT_THAT(gangs.given_up, ElementsAre()) << "one clock is wrong";
}

/// The link of the server was away: half come back at once, half sleep until the quarter, as they are to.
TEST_F(GangHubTest, ManyAbsentOnesHaveAQuarterHour) {
    const LinkId m = meet();
    for (LinkId i = 0; i < 4; ++i) hub.drop(m + i, "its link is broken", now);
    std::vector<LinkId> here;
    double waited = 0;
    for (; gangs.given_up.empty() && waited < 2000; waited += 10) {
        if (here.empty() || links.closed.contains(here[0])) here = {come({12, 0}, 0), come({12, 0}, 1)};
        now += 10;
        for (const LinkId link : here) hub.line(link, "ALIVE", now);
        hub.tick(now);
    }
    EXPECT_GE(waited, 1010);
    EXPECT_LE(waited, 1500);
    EXPECT_EQ(gangs.given_up.at(0), "12.0 2a 3a");
}

/// It was started a moment ago, and the others sleep until the quarter.
TEST_F(GangHubTest, AmongManyAbsentUnheardOnesAreKept) {
    const LinkId a = come({12, 0}, 0), b = come({12, 0}, 1);
    for (int i = 0; i < 30; ++i) {
        now += 10;
        hub.line(a, "ALIVE", now), hub.line(b, "ALIVE", now);
        hub.tick(now);
    }
    EXPECT_EQ(told(a), "EXIT 0 2 of 4 members came within 300 s");
    EXPECT_THAT(gangs.given_up, ElementsAre());
}

TEST_F(GangHubTest, ThoseWithoutRoomAreNotCancelled) {
    const LinkId m = meet();
    hub.drop(m + 2, "its link is broken", now);
    std::vector<LinkId> here{come({12, 0}, 0), come({12, 0}, 1), come({12, 0}, 3)};
    gangs.gangs[{13, 0}] = {40};
    for (int i = 0; i < 9; ++i) here.push_back(come({13, 0}, i));
    wait(here, 100);
    EXPECT_THAT(told(come({12, 0}, 2)), HasSubstr("RETRY the hub has no room"));
    wait(here, 110);
    EXPECT_THAT(gangs.given_up, ElementsAre());
    wait(here, 10);
    EXPECT_THAT(gangs.given_up, ElementsAre("12.0 2a"));
}

TEST_F(GangHubTest, DeferredMembersAreNotCancelled) {
    const LinkId m = meet();
    hub.drop(m + 2, "its link is broken", now);
    std::vector<LinkId> here{come({12, 0}, 0), come({12, 0}, 1), come({12, 0}, 3)};
    wait(here, 100);
    gangs.away = true;
    EXPECT_THAT(told(come({12, 0}, 2)), HasSubstr("RETRY the project's database is away"));
    gangs.away = false;
    wait(here, 100);
    EXPECT_THAT(gangs.given_up, ElementsAre());
    gangs.away = true;
    wait(here, 30);
    EXPECT_EQ(told(here[0]), "") << "the others wait on";
    gangs.away = false;
    wait(here, 60);
    EXPECT_THAT(gangs.given_up, ElementsAre("12.0 2a"));
}

TEST_F(GangHubTest, WhereMostAreAwayNobodyIsGivenUp) {
    meet();
    now += 121;
    hub.tick(now);
    const LinkId alone = come({12, 0}, 0);
    for (int i = 0; i < 31; ++i) {
        now += 10;
        hub.line(alone, "ALIVE", now);
        hub.tick(now);
    }
    EXPECT_THAT(gangs.given_up, ElementsAre());
    EXPECT_EQ(told(alone), "EXIT 0 1 of 4 members came within 300 s");
}

}  // namespace
}  // namespace sluice::test
