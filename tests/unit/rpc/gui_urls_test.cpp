// SPDX-License-Identifier: LGPL-3.0-or-later
#include <gtest/gtest.h>

#include "sched/rpc/reply.h"
#include "sluice/base/hash.h"

namespace sluice::test {
namespace {

SchedulerReply account(bool with_team) {
    SchedulerReply r;
    r.master_url = "http://m/";
    r.project_name = "Proj";
    r.user.id = 3;
    r.user.name = "A&B";
    r.user.authenticator = "0123456789abcdef0123456789abcdef";
    r.user.passwd_hash = "x";
    r.host.id = 9;
    if (with_team) {
        r.user.teamid = r.team.id = 7;
        r.team.name = "<T>";
    }
    return r;
}

TEST(GuiUrls, EveryPlaceholder) {
    const std::string text =
        "<userid/>|<user_name/>|<hostid/>|<teamid/>|<team_name/>|<authenticator/>|<weak_auth/>|<project_name/>|<master_url/>";
    EXPECT_EQ(expand_gui_urls(text, account(true)), "3|A&amp;B|9|7|&lt;T&gt;|0123456789abcdef0123456789abcdef|3_" +
                                                        md5_hex("0123456789abcdef0123456789abcdefx") +
                                                        "|Proj|http://m/");
}

// The value that the captured replies hold, for user 1 with password hash "x".
TEST(GuiUrls, RssAuth) {
    SchedulerReply r = account(false);
    r.user.id = 1;
    EXPECT_EQ(expand_gui_urls("<url>n?auth=<rss_auth/></url>", r),
              "<url>n?auth=1_f424b301f5da0c29c46e7ab64bbe96af</url>");
}

TEST(GuiUrls, IfTeam) {
    const std::string text = "a <ifteam>team <teamid/></ifteam> b <ifteam>x</ifteam>";
    EXPECT_EQ(expand_gui_urls(text, account(true)), "a team 7 b x");
    EXPECT_EQ(expand_gui_urls(text, account(false)), "a  b ");
    EXPECT_EQ(expand_gui_urls("a <ifteam>never closed", account(false)), "a <ifteam>never closed");
    EXPECT_EQ(expand_gui_urls("</ifteam> a <ifteam>b</ifteam>", account(false)), "</ifteam> a ");
}

TEST(GuiUrls, ValuesAreNotExpandedAgain) {
    SchedulerReply r = account(false);
    r.project_name = "<authenticator/>";
    EXPECT_EQ(expand_gui_urls("<project_name/>", r), "<authenticator/>");
}

// Upstream cuts what lies beyond 4 KiB.
TEST(GuiUrls, LongTexts) {
    const std::string pad(100000, 'p');
    EXPECT_EQ(expand_gui_urls(pad + "<userid/>" + pad, account(false)), pad + "3" + pad);
    std::string many;
    for (int i = 0; i < 20000; ++i) many += "<ifteam>";
    EXPECT_EQ(expand_gui_urls(many, account(false)), many);
    EXPECT_EQ(expand_gui_urls("", account(false)), "");
    EXPECT_EQ(expand_gui_urls("<", account(false)), "<");
}

}  // namespace
}  // namespace sluice::test
