// SPDX-License-Identifier: LGPL-3.0-or-later
// Which side a host goes to, and what the front writes down of a reply.
#include <gtest/gtest.h>

#include <string>

#include "sched/canary/choice.h"
#include "sched/canary/served_request.h"

namespace sluice {
namespace {

TEST(CanaryChoice, AHostIsKnownByWhatStays) {
    const std::string info = "<host_info><host_cpid>abc</host_cpid></host_info>";
    EXPECT_EQ(host_key("<authenticator>k</authenticator>\n<hostid> 17 </hostid>\n" + info), "host 17");
    EXPECT_EQ(host_key("<authenticator>k</authenticator>\n<hostid>0</hostid>\n" + info), "host_cpid abc");
    EXPECT_EQ(host_key("<authenticator>\n k \n</authenticator>\n<hostid>x"), "authenticator k");
    for (const char* nothing : {"", "<hostid>", "<hostid>-3</hostid>", "<host_cpid></host_cpid>", "GET /"})
        EXPECT_EQ(host_key(nothing), "") << nothing;
    EXPECT_LE(host_key("<host_cpid>" + std::string(100000, 'x')).size(), 300u);
}

TEST(CanaryChoice, ALargerShareOnlyAddsHosts) {
    int at_ten = 0, at_fifty = 0;
    for (int id = 1; id <= 10000; ++id) {
        const std::string key = "host " + std::to_string(id);
        EXPECT_TRUE(goes_to_sluice(key, kAllHosts));
        EXPECT_FALSE(goes_to_sluice(key, 0));
        const bool ten = goes_to_sluice(key, 1000), fifty = goes_to_sluice(key, 5000);
        EXPECT_TRUE(!ten || fifty) << id;
        at_ten += ten ? 1 : 0, at_fifty += fifty ? 1 : 0;
    }
    EXPECT_NEAR(at_ten, 1000, 120);  // four standard deviations
    EXPECT_NEAR(at_fifty, 5000, 200);
    EXPECT_FALSE(goes_to_sluice("", kAllHosts)) << "who names nothing stays";
}

TEST(CanaryChoice, SettingsThatAreNotOursGiveSluiceNothing) {
    EXPECT_EQ(canary_share(canary_settings(1250)), 1250);
    EXPECT_EQ(canary_share("hundredths_of_a_percent 99999999\n"), kAllHosts);
    for (const char* text : {"", "1250", "hundredths_of_a_percent ", "hundredths_of_a_percent -1", "\xff\xfe"})
        EXPECT_EQ(canary_share(text), 0) << text;
}

TEST(CanaryChoice, WhoAsksForWork) {
    EXPECT_TRUE(asks_for_work("<work_req_seconds>1e4</work_req_seconds>"));
    EXPECT_TRUE(asks_for_work("<work_req_seconds>0</work_req_seconds><cpu_req_secs>5</cpu_req_secs>"));
    EXPECT_FALSE(asks_for_work("<work_req_seconds>0.000000</work_req_seconds>"));
    EXPECT_FALSE(asks_for_work(""));
}

TEST(ServedRequests, AreJudgedByTheReply) {
    const std::string head = "Content-type: text/xml\n\n<scheduler_reply>\n", end = "</scheduler_reply>\n";
    const ServedRequest sent = judge_reply(head + "<result>\n</result>\n<result>\n</result>" + end, true, true);
    EXPECT_EQ(sent.how, ServedHow::kSent);
    EXPECT_EQ(sent.jobs, 2);
    const std::string no = "<message priority=\"low\">No tasks\nsent</message><message priority=\"high\">Two</message>";
    const ServedRequest refused = judge_reply(head + no + end, true, true);
    EXPECT_EQ(refused.how, ServedHow::kRefused);
    EXPECT_EQ(refused.messages, "No tasks sent|Two");
    EXPECT_EQ(judge_reply(head + no + end, false, true).how, ServedHow::kIdle);
    EXPECT_EQ(judge_reply(head + "<project_is_down/>" + end, false, true).how, ServedHow::kDown);
    EXPECT_EQ(judge_reply(head, true, true).how, ServedHow::kFailed) << "cut off";
    EXPECT_EQ(judge_reply(head + end, true, false).how, ServedHow::kFailed);
    EXPECT_EQ(judge_reply("", true, true).how, ServedHow::kFailed);
    EXPECT_LT(
        judge_reply(head + "<message>" + std::string(1 << 20, 'x') + "</message>" + end, true, true).messages.size(),
        1000u);
}

TEST(ServedRequests, AreReadBackAsTheyWereWritten) {
    for (const ServedHow how :
         {ServedHow::kSent, ServedHow::kRefused, ServedHow::kIdle, ServedHow::kDown, ServedHow::kFailed}) {
        const ServedRequest served{true, how, 7, 12345, "Not sent|because 3"};
        std::string line = line_of(served);
        ASSERT_EQ(line.back(), '\n');
        line.pop_back();
        const auto read = served_request(line);
        ASSERT_TRUE(read) << line;
        EXPECT_TRUE(read->ours);
        EXPECT_EQ(read->how, how);
        EXPECT_EQ(read->jobs, 7);
        EXPECT_EQ(read->microseconds, 12345);
        EXPECT_EQ(read->messages, served.messages);
    }
    for (const char* line : {"", "ours", "ours ", "ours s", "ours x 1 1 ", "mine s 1 1 ", "ours s 1 1", "ours s -1 1 ",
                             "theirs s 99999999999999999999 1 ", "theirs s  1 "})
        EXPECT_FALSE(served_request(line)) << line;
}

}  // namespace
}  // namespace sluice
