// SPDX-License-Identifier: LGPL-3.0-or-later
// A database that does not answer: members' messages pass all the same, and whoever asks waits for it.
#include <gmock/gmock.h>

#include "tests/unit/gang/hub_fixture.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(GangHubTest, MessagesPassWhileTheDatabaseHangs) {
    const LinkId m = meet();
    desk.hung = true;
    const LinkId a = come({12, 1}, 0), b = come({12, 1}, 1);
    EXPECT_EQ(told(a) + told(b), "");
    hub.line(m, "MESSAGE * hello", now);
    for (LinkId i = 1; i < 4; ++i) EXPECT_EQ(told(m + i), "MESSAGE 0 hello");
    for (LinkId i = 0; i < 4; ++i) hub.line(m + i, "CHECKPOINT 50", now);
    EXPECT_EQ(told(m), "COMMON 50");
    // Longer than a stranger may take for its HELLO: they have said it.
    now += 20;
    hub.line(a, "ALIVE", now), hub.line(b, "ALIVE", now);
    hub.tick(now);
    EXPECT_EQ(told(a) + told(b), "");
    desk.go_on();
    EXPECT_EQ(told(a), "START 2 0");
    EXPECT_EQ(told(b), "START 2 0");
}

TEST_F(GangHubTest, OneQuestionPerMemberLastLinkCounts) {
    desk.hung = true;
    std::vector<LinkId> all;
    for (int i = 0; i < 100; ++i) all.push_back(come({12, 1}, 0, i));
    EXPECT_EQ(desk.waiting.size(), 1u);
    EXPECT_EQ(hub.links(), 1u) << "of one instance one link waits";
    EXPECT_THAT(told(all[98]), HasSubstr("RETRY another process of this member has come"));
    // One that does not wait is asked about no second time either.
    hub.drop(all[99], "its link is broken", now);
    const LinkId last_one = come({12, 1}, 0, 7);
    EXPECT_EQ(desk.waiting.size(), 1u);
    desk.go_on();
    EXPECT_EQ(told(last_one), "");
    EXPECT_EQ(told(come({12, 1}, 1, 9)), "START 2 7");

    // The answer comes when nobody is there any more.
    desk.hung = true;
    hub.drop(come({12, 0}, 2), "its link is broken", now);
    desk.go_on();
    EXPECT_EQ(hub.gangs(), 1u);
}

TEST_F(GangHubTest, WaitingMembersMustSayAlive) {
    desk.hung = true;
    const LinkId loud = come({12, 1}, 0);
    EXPECT_EQ(hub.line_limit(loud), 65536u) << "it is a member";
    hub.line(loud, "MESSAGE * x", now);
    EXPECT_EQ(told(loud), "REFUSED only ALIVE may come before START");
    const LinkId again = come({12, 1}, 1);
    hub.line(again, hello({12, 1}, 1, 0), now);
    EXPECT_THAT(told(again), HasSubstr("REFUSED 'HELLO 12.1 1"));
    const LinkId silent = come({12, 0}, 1);
    now += 120;
    hub.tick(now);
    EXPECT_EQ(told(silent), "RETRY it said nothing for 120 s");
    EXPECT_EQ(hub.links(), 0u);
    desk.go_on();
    EXPECT_EQ(hub.gangs(), 0u);
}

TEST_F(GangHubTest, TooManyQuestionsDeferMembers) {
    desk.hung = true;
    desk.most = 2;
    const LinkId m = come({12, 0}, 0);
    come({12, 0}, 1);
    EXPECT_THAT(told(come({12, 0}, 2)), HasSubstr("RETRY the project's database is away"));
    EXPECT_EQ(told(m), "");
    desk.go_on();
    EXPECT_EQ(hub.links(), 2u);
    come({12, 0}, 2), come({12, 0}, 3);
    EXPECT_EQ(told(m), "START 4 0");
}

TEST_F(GangHubTest, NobodyHearsOfEndBeforeDatabaseKnowsIt) {
    const LinkId m = meet();
    desk.hung = true;
    for (LinkId i = 0; i < 4; ++i) hub.line(m + i, "DONE", now);
    // What they say now changes nothing; one that goes has done its part.
    hub.line(m, "DONE", now), hub.line(m, "CHECKPOINT 50", now), hub.line(m + 1, "ALIVE", now);
    hub.drop(m + 3, "its link is broken", now);
    for (LinkId i = 0; i < 3; ++i) EXPECT_EQ(told(m + i), "");
    EXPECT_EQ(desk.waiting.size(), 1u);
    const LinkId again = come({12, 0}, 3);
    desk.go_on();
    for (LinkId i = 0; i < 3; ++i) EXPECT_THAT(links.lines[m + i], ElementsAre("END"));
    EXPECT_EQ(told(again), "END");
    EXPECT_EQ(hub.gangs() + hub.links(), 0u);
}

TEST_F(GangHubTest, WhoIsAskedAboutIsNotGivenUp) {
    const LinkId m = meet();
    hub.drop(m + 2, "its link is broken", now);
    std::vector<LinkId> waiting;
    for (const int i : {0, 1, 3}) waiting.push_back(come({12, 0}, i));
    wait(waiting, 110);
    desk.hung = true;
    waiting.push_back(come({12, 0}, 2));
    wait(waiting, 20);
    desk.go_on();
    EXPECT_THAT(gangs.given_up, ElementsAre());
    EXPECT_EQ(told(waiting[0]), "START 4 0");
}

}  // namespace
}  // namespace sluice::test
