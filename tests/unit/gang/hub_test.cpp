// SPDX-License-Identifier: LGPL-3.0-or-later
// The protocol of docs/gangs.md, without sockets.
#include <gmock/gmock.h>

#include "tests/unit/gang/hub_fixture.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
TEST_F(GangHubTest, AllStartAtTheLeastCheckpoint) {
    const LinkId a = come({12, 0}, 2, 300), b = come({12, 0}, 0, 200), c = come({12, 0}, 3, 300);
    EXPECT_TRUE(links.lines.empty());
    const LinkId d = come({12, 0}, 1, 200);
    for (const LinkId link : {a, b, c, d}) EXPECT_THAT(links.lines[link], ElementsAre("START 4 200"));
    EXPECT_EQ(gangs.asked, 4) << "the database is asked once a HELLO";
}

TEST_F(GangHubTest, MessagesGoToOneOrAllInOrder) {
    const LinkId m = meet();
    EXPECT_THAT(started, ElementsAre("START 4 0"));
    hub.line(m, "MESSAGE 3 for you  only ", now);
    hub.line(m + 1, "MESSAGE * 17 4.5", now);
    EXPECT_THAT(links.lines[m], ElementsAre("MESSAGE 1 17 4.5"));
    EXPECT_THAT(links.lines[m + 1], ElementsAre());
    EXPECT_THAT(links.lines[m + 2], ElementsAre("MESSAGE 1 17 4.5"));
    EXPECT_THAT(links.lines[m + 3], ElementsAre("MESSAGE 0 for you  only ", "MESSAGE 1 17 4.5"));
}

TEST_F(GangHubTest, BarriersAndCheckpointsEndWithAll) {
    const LinkId m = meet();
    for (int round = 0; round < 2; ++round) {
        for (LinkId i = 0; i < 4; ++i) {
            EXPECT_EQ(told(m), "") << "not all";
            hub.line(m + i, "BARRIER", now);
        }
        for (LinkId i = 0; i < 4; ++i) EXPECT_THAT(links.lines[m + i], ElementsAre("BARRIER"));
        links.lines.clear();
        const std::string number = round == 0 ? "100" : "250";
        for (LinkId i = 0; i < 4; ++i) {
            EXPECT_EQ(told(m), "") << "not all";
            hub.line(m + i, "CHECKPOINT " + number, now);
        }
        for (LinkId i = 0; i < 4; ++i) EXPECT_THAT(links.lines[m + i], ElementsAre("COMMON " + number));
        links.lines.clear();
    }
}

TEST_F(GangHubTest, ABrokenLinkSendsAllBack) {
    const LinkId m = meet({500, 400, 500, 500});
    EXPECT_THAT(started, ElementsAre("START 4 400"));
    for (LinkId i = 0; i < 4; ++i) hub.line(m + i, "CHECKPOINT 500", now);
    hub.line(m, "CHECKPOINT 600", now);
    hub.drop(m + 2, "its link is broken", now);
    for (const LinkId i : {0u, 1u, 3u}) {
        EXPECT_EQ(told(m + i), "EXIT 500 member 2 is gone");
        EXPECT_TRUE(links.closed.contains(m + i));
    }
    EXPECT_EQ(hub.links(), 0u);
    EXPECT_EQ(hub.gangs(), 0u);
    meet({600, 500, 500, 500});
    EXPECT_THAT(started, ElementsAre("START 4 500"));
    now += 46;  // their links are lost without a word
    meet({600, 500, 0, 500});
    EXPECT_THAT(started, ElementsAre("START 4 0")) << "one lost all that it had";
}

TEST_F(GangHubTest, HubThatWasKilledNeedsToRememberNothing) {
    LinkId m = meet();
    for (LinkId i = 0; i < 4; ++i) hub.line(m + i, "CHECKPOINT 100", now);
    // COMMON 100 reached nobody; two have gone on to 200.
    GangHub next(desk, links, limits(), kSecret);
    desk.hub = &next;
    links.lines.clear();
    const std::int64_t newest[] = {200, 100, 200, 100};
    for (int i = 0; i < 4; ++i) {
        next.opened(100 + static_cast<LinkId>(i), "192.0.2.1", now);
        next.line(100 + static_cast<LinkId>(i), hello({12, 0}, i, newest[i]), now);
    }
    EXPECT_EQ(told(100), "START 4 100");
}

TEST_F(GangHubTest, ItEndsWithAllAndTellsLateOnes) {
    const LinkId m = meet();
    for (LinkId i = 0; i < 3; ++i) hub.line(m + i, "DONE", now);
    EXPECT_FALSE(gangs.gangs.at({12, 0}).ended);
    EXPECT_EQ(told(m), "");
    hub.line(m + 3, "DONE", now);
    EXPECT_TRUE(gangs.gangs.at({12, 0}).ended);
    for (LinkId i = 0; i < 4; ++i) EXPECT_THAT(links.lines[m + i], ElementsAre("END"));
    EXPECT_EQ(told(come({12, 0}, 2, 1000)), "END");
}

TEST_F(GangHubTest, EndThatCantBeStoredIsNoEnd) {
    const LinkId m = meet();
    for (LinkId i = 0; i < 3; ++i) hub.line(m + i, "DONE", now);
    gangs.away = true;
    hub.line(m + 3, "DONE", now);
    for (LinkId i = 0; i < 4; ++i) EXPECT_THAT(told(m + i), HasSubstr("EXIT 0 the project's database is away"));
    EXPECT_THAT(told(come({12, 0}, 0, 0)), HasSubstr("RETRY the project's database is away"));
    EXPECT_EQ(gangs.asked, 4) << "of the four HELLOs; it was away a moment ago";
    gangs.away = false;
    now += 6;
    meet();
    EXPECT_THAT(started, ElementsAre("START 4 0"));
}

TEST_F(GangHubTest, UnprovenMembersAreRefused) {
    const std::string token = GangHubTest::token({{12, 0}, 1});
    for (const std::string& line :
         Lines{"", "GET / HTTP/1.0", "HELLO", "HELLO 12.0 1 " + token, "HELLO 12.0 1  0",
               "HELLO 12.0 -1 " + token + " 0", "HELLO 12.0 1 " + token + " -5", "HELLO 12.0 1 " + token + " 0 more",
               "HELLO 12 1 " + token + " 0", "HELLO 12.0 99999999999 " + token + " 0"})
        EXPECT_THAT(refused(line), HasSubstr("REFUSED ")) << line;
    EXPECT_EQ(refused("HELLO 12.0 1 " + std::string(80, '0') + " 0"),
              "REFUSED this is not the token of member 1 of gang 12.0");
    EXPECT_EQ(refused("HELLO 12.0 2 " + token + " 0"), "REFUSED this is not the token of member 2 of gang 12.0");
    EXPECT_EQ(gangs.asked, 0) << "a stranger costs no statement";
    EXPECT_EQ(refused(hello({99, 0}, 0, 0)), "GIVEN_UP there is no gang 99.0") << "any more: its batch was retired";
    EXPECT_EQ(refused(hello({12, 1}, 2, 0)), "REFUSED gang 12.1 has 2 members");
}

TEST_F(GangHubTest, WhatMemberMayNotSayEndsItsGang) {
    const std::pair<const char*, const char*> cases[] = {
        {"SHUTDOWN", "'SHUTDOWN' is not one of"},
        {"BARRIER 3", "is not one of"},
        {"MESSAGE 0 to myself", "MESSAGE needs another member's number"},
        {"MESSAGE 4 to nobody", "MESSAGE needs another member's number"},
        {"MESSAGE *", "MESSAGE needs another member's number"},
        {"MESSAGE", "MESSAGE needs another member's number"},
        {"CHECKPOINT", "CHECKPOINT needs a number above 0"},
        {"CHECKPOINT 0", "CHECKPOINT needs a number above 0"},
        {"CHECKPOINT -3", "CHECKPOINT needs a number above 0"},
        {"CHECKPOINT 1e9", "CHECKPOINT needs a number above 0"},
    };
    for (const auto& [line, why] : cases) {
        const LinkId m = meet();
        hub.line(m, line, now);
        EXPECT_THAT(told(m), testing::StartsWith("REFUSED ")) << line;
        EXPECT_THAT(told(m), HasSubstr(why)) << line;
        EXPECT_EQ(told(m + 1), "EXIT 0 member 0 is gone") << line;
    }
    const LinkId m = meet();
    hub.line(m, "CHECKPOINT 100", now);
    hub.line(m, "CHECKPOINT 200", now);
    EXPECT_EQ(told(m), "REFUSED CHECKPOINT 200 before COMMON 100");
    const LinkId n = meet();
    hub.line(n, "CHECKPOINT 100", now);
    hub.line(n + 1, "CHECKPOINT 150", now);
    EXPECT_EQ(told(n + 3), "EXIT 0 member 1 has written checkpoint 150, others 100");
    const LinkId early = come({12, 0}, 0);
    hub.line(early, "ALIVE", now);
    EXPECT_EQ(told(early), "");
    hub.line(early, "MESSAGE * too early", now);
    EXPECT_EQ(told(early), "REFUSED only ALIVE may come before START");
}

TEST_F(GangHubTest, WhoComesAnewTakesPlaceOfLinkDead) {
    const LinkId waiting = come({12, 1}, 0);
    const LinkId early = come({12, 1}, 0);
    EXPECT_THAT(told(early), HasSubstr("RETRY another process is at work"));
    now += 46;
    const LinkId again = come({12, 1}, 0);
    EXPECT_THAT(told(waiting), HasSubstr("REFUSED another process has taken the place"));
    const LinkId other = come({12, 1}, 1);
    EXPECT_EQ(told(again), "START 2 0");
    now += 46;
    hub.line(again, "ALIVE", now);
    const LinkId anew = come({12, 1}, 1, 0);
    EXPECT_THAT(told(other), HasSubstr("REFUSED another process has taken the place"));
    EXPECT_EQ(told(again), "EXIT 0 member 1 has come anew");
    EXPECT_EQ(told(anew), "");
    come({12, 1}, 0);
    EXPECT_EQ(told(anew), "START 2 0");
}

TEST_F(GangHubTest, WaitingHasAnEnd) {
    const LinkId silent = open();
    now += 9;
    hub.tick(now);
    EXPECT_EQ(told(silent), "");
    now += 1;
    hub.tick(now);
    EXPECT_EQ(told(silent), "REFUSED no HELLO came within 10 s");

    const LinkId m = meet();
    now += 119;
    hub.line(m, "ALIVE", now), hub.line(m + 1, "ALIVE", now), hub.line(m + 2, "MESSAGE * x", now);
    now += 1;
    hub.tick(now);
    EXPECT_EQ(told(m + 3), "RETRY it said nothing for 120 s");
    EXPECT_EQ(told(m), "EXIT 0 member 3 is gone");

    const LinkId alone = come({12, 0}, 1, 700);
    for (int i = 0; i < 3; ++i) {
        now += 100;
        hub.line(alone, "ALIVE", now);
        hub.tick(now);
    }
    EXPECT_EQ(told(alone), "EXIT 0 1 of 4 members came within 300 s");
    EXPECT_EQ(hub.gangs(), 0u);
}

TEST_F(GangHubTest, StrangersFillTheHubOnce) {
    const LinkId m = meet();
    const LinkId first = open();
    for (int i = 0; i < 3; ++i) open();
    EXPECT_EQ(told(first), "");
    open();  // a fifth stranger, of four: a quarter of 12, and 1
    EXPECT_THAT(told(first), HasSubstr("REFUSED others wait to say HELLO"));
    for (int i = 0; i < 100; ++i) open();
    EXPECT_EQ(hub.links(), 4u + 4u);
    EXPECT_EQ(told(m), "");
    const LinkId a = come({12, 1}, 0), b = come({12, 1}, 1);
    EXPECT_EQ(told(a), "START 2 0");
    EXPECT_EQ(told(b), "START 2 0");

    gangs.gangs[{13, 0}] = {40};
    for (int i = 0; i < 30; ++i) come({13, 0}, i);
    EXPECT_EQ(hub.links(), 12u);
    EXPECT_THAT(told(last), HasSubstr("RETRY the hub has no room"));
    EXPECT_EQ(told(m), "");
}

TEST_F(GangHubTest, GangThatWasGivenUpMeetsNoMore) {
    gangs.gangs[{12, 0}].given_up = true;
    EXPECT_EQ(refused(hello({12, 0}, 1, 300)), "GIVEN_UP gang 12.0: a member can't be had any more");
    EXPECT_EQ(hub.gangs(), 0u);
}

TEST_F(GangHubTest, AMemberDoesNotFillTheLog) {
    testing::internal::CaptureStderr();
    for (int i = 0; i < 1000; ++i) hub.line(come({12, 0}, 1), "nonsense", now);
    now += 61;
    hub.line(come({12, 0}, 1), "nonsense of the next minute", now);
    const std::string log = testing::internal::GetCapturedStderr();
    const auto lines = std::count(log.begin(), log.end(), '\n');
    EXPECT_GT(lines, 20) << log;
    EXPECT_LT(lines, 300);
    EXPECT_THAT(log, HasSubstr("of the next minute"));
}

TEST_F(GangHubTest, LinesOfStrangersAreShort) {
    const LinkId m = meet();
    EXPECT_EQ(hub.line_limit(m), 65536u);
    EXPECT_EQ(hub.line_limit(open()), 512u);
    EXPECT_EQ(hub.line_limit(999), 512u);
}

}  // namespace
}  // namespace sluice::test
