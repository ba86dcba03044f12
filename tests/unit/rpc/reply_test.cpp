// SPDX-License-Identifier: LGPL-3.0-or-later
// The reply's elements, their order and the differences between generations of clients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/rpc/reply.h"

namespace sluice::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string with_header(const std::string& rest) {
    std::string out = "Content-type: text/xml\n\n<scheduler_reply>\n";
    out += rest;
    return out;
}

SchedulerReply full_reply(int client_version = 80206) {
    SchedulerReply r;
    r.extent = ReplyExtent::kFull;
    r.client_version = client_version;
    r.project_name = "Test";
    r.user_known = true;
    r.user.id = 3;
    r.user.name = "alice";
    r.host.id = 9;
    return r;
}

TEST(Reply, SmallestNucleus) {
    SchedulerReply r;
    r.project_name = "P";
    EXPECT_EQ(write_reply(r), with_header("<scheduler_version>803</scheduler_version>\n"
                                          "<project_name>P</project_name>\n</scheduler_reply>\n"));
}

TEST(Reply, NucleusInOrder) {
    SchedulerReply r;
    r.client_version = 72005;
    r.master_url = "http://a/b/";
    r.project_name = "P";
    r.ended = true;
    r.request_delay = 60;
    r.send_time_stats_log = r.send_full_workload = true;
    r.say({"first"});
    r.say({"second", true});
    r.result_acks = {"not in a nucleus"};
    EXPECT_EQ(
        write_reply(r),
        with_header(
            "<scheduler_version>803</scheduler_version>\n<dont_use_dcf/>\n<master_url>http://a/b/</master_url>\n"
            "<ended>1</ended>\n<request_delay>60.000000</request_delay>\n"
            "<message priority=\"low\">first</message>\n<message priority=\"notice\">second</message>\n"
            "<project_name>P</project_name>\n<send_time_stats_log>1</send_time_stats_log>\n<send_full_workload/>\n"
            "</scheduler_reply>\n"));
}

TEST(Reply, ProjectIsDownEndsIt) {
    SchedulerReply r = full_reply();
    r.project_is_down = r.send_full_workload = true;
    r.request_delay = 3600;
    const std::string text = write_reply(r);
    EXPECT_THAT(text, HasSubstr("<project_name>Test</project_name>\n<project_is_down/>\n</scheduler_reply>\n"));
}

TEST(Reply, Delays) {
    const struct {
        double delay, interval;
        const char* text;
    } cases[] = {
        {0, 0, ""},
        {0, 6, "<request_delay>7.000000</request_delay>"},
        {0, 600, "<request_delay>606.000000</request_delay>"},
        {3600, 6, "<request_delay>3600.000000</request_delay>"},
        {3, 6, "<request_delay>7.000000</request_delay>"},
        {1e9, 0, "<request_delay>172800.000000</request_delay>"},
        {-5, 0, ""},
    };
    for (const auto& c : cases) {
        SchedulerReply r;
        r.request_delay = c.delay;
        r.min_sendwork_interval = c.interval;
        if (*c.text) {
            EXPECT_THAT(write_reply(r), HasSubstr(c.text));
        } else {
            EXPECT_THAT(write_reply(r), Not(HasSubstr("request_delay")));
        }
    }
}

TEST(Reply, DontUseDcf) {
    for (const auto& [version, sent] : std::map<int, bool>{{0, false}, {70027, false}, {70028, true}, {80206, true}}) {
        SchedulerReply r;
        r.client_version = version;
        EXPECT_EQ(write_reply(r).find("<dont_use_dcf/>") != std::string::npos, sent) << version;
    }
}

TEST(Reply, MessagesForEveryGeneration) {
    const struct {
        int version;
        const char* text;
    } cases[] = {
        {41900, "<message priority=\"notice\">one two three </message>\n"},
        {41901, "<message priority=\"low\">one\ntwo</message>\n<message priority=\"high\">three</message>\n"},
        {61100, "<message priority=\"low\">one\ntwo</message>\n<message priority=\"high\">three</message>\n"},
        {61101, "<message priority=\"low\">one\ntwo</message>\n<message priority=\"notice\">three</message>\n"},
        {61199, "<message priority=\"low\">one\ntwo</message>\n<message priority=\"notice\">three</message>\n"},
        {61200, "<message priority=\"low\">one\ntwo</message>\n<message priority=\"notice\">_(\"three\")</message>\n"},
        {80206, "<message priority=\"low\">one\ntwo</message>\n<message priority=\"notice\">_(\"three\")</message>\n"},
    };
    for (const auto& c : cases) {
        SchedulerReply r;
        r.client_version = c.version;
        r.say({"one\ntwo"});
        r.say({"_(\"three\")", true});
        EXPECT_THAT(write_reply(r), HasSubstr(c.text)) << c.version;
    }
    SchedulerReply low;
    low.client_version = 41900;
    low.say({"x"});
    EXPECT_THAT(write_reply(low), HasSubstr("<message priority=\"low\">x </message>\n"));
}

TEST(Reply, NothingEndsItEarly) {
    SchedulerReply r = full_reply();
    r.say({"</message></scheduler_reply><a href=\"http://x/\">kept</a>"});
    r.result_acks = {"</name></result_ack></scheduler_reply>"};
    r.delete_files = {"</delete_file_info></scheduler_reply>"};
    r.user.name = r.user.cross_project_id = "</user_name></scheduler_reply>";
    r.send_global_prefs = true;  // once sent by a client, stored, and now sent to another
    r.user.global_prefs = r.user.project_prefs = "<global_preferences></scheduler_reply></global_preferences>";
    const std::string text = write_reply(r);
    EXPECT_EQ(text.find("</scheduler_reply>"), text.size() - 19);
    EXPECT_THAT(text, HasSubstr("<a href=\"http://x/\">kept</a></message>"));
}

TEST(Reply, Identity) {
    SchedulerReply r = full_reply();
    r.symstore = "http://sym/";
    r.next_rpc_delay = 86400;
    r.user.name = "J\xC3\xBCrgen <&>";
    r.user.total_credit = 1.5;
    r.user.expavg_credit = 0.25;
    r.user.create_time = 1795226623;
    r.user.cross_project_id = "cpid";
    r.user.global_prefs = "<global_preferences>\n</global_preferences>\n";
    r.user.project_prefs = "<project_preferences>\n</project_preferences>";
    r.email_hash = "eh";
    r.external_cpid = "ec";
    r.send_global_prefs = r.send_hostid = true;
    r.host.total_credit = 2;
    r.host.expavg_credit = 3;
    r.host.venue = "home";
    r.host.create_time = 1795226773;
    r.team.id = 7;
    r.team.name = "T & \xE9quipe";
    EXPECT_THAT(write_reply(r),
                HasSubstr("<symstore>http://sym/</symstore>\n<next_rpc_delay>86400.000000</next_rpc_delay>\n"
                          "<userid>3</userid>\n<user_name>J&#195;&#188;rgen &lt;&amp;&gt;</user_name>\n"
                          "<user_total_credit>1.500000</user_total_credit>\n"
                          "<user_expavg_credit>0.250000</user_expavg_credit>\n"
                          "<user_create_time>1795226623</user_create_time>\n<email_hash>eh</email_hash>\n"
                          "<cross_project_id>cpid</cross_project_id>\n<external_cpid>ec</external_cpid>\n"
                          "<global_preferences>\n</global_preferences>\n"
                          "<project_preferences>\n</project_preferences>\n"
                          "<hostid>9</hostid>\n<host_total_credit>2.000000</host_total_credit>\n"
                          "<host_expavg_credit>3.000000</host_expavg_credit>\n<host_venue>home</host_venue>\n"
                          "<host_create_time>1795226773</host_create_time>\n<teamid>7</teamid>\n"
                          "<team_name>T &amp; &#233;quipe</team_name>\n"));
}

TEST(Reply, WithoutTeamHostidAndPreferences) {
    SchedulerReply r = full_reply();
    const std::string text = write_reply(r);
    EXPECT_THAT(text, HasSubstr("</email_hash>\n\n<host_total_credit>"))
        << "no id across projects yet: neither element";
    EXPECT_THAT(text, HasSubstr("<team_name></team_name>\n"));
    EXPECT_THAT(text, Not(HasSubstr("teamid")));
    EXPECT_THAT(text, Not(HasSubstr("<hostid>")));
}

TEST(Reply, TheRestInOrder) {
    SchedulerReply r = full_reply();
    r.result_acks = {"a1", "a2"};
    r.result_aborts = {"b"};
    r.result_aborts_if_not_started = {"c"};
    r.code_sign_key = "1024\nkey\n.";
    r.code_sign_key_signature = "sig\n.\n";
    r.message_ack = r.non_cpu_intensive = r.strict_memory_bound = r.verify_files_on_app_start = true;
    r.trickle_downs = {"<trickle_down>x</trickle_down>", "<trickle_down>y</trickle_down>\n"};
    r.delete_files = {"f1"};
    r.file_transfer_requests = {"<file_info/>\n"};
    r.project_has_apps = {true, true, true, true, true};
    r.gui_urls = "<gui_urls>\n</gui_urls>";
    r.project_files = "<project_files>\n</project_files>\n";
    const std::string text = write_reply(r);
    EXPECT_EQ(text.substr(text.find("<result_ack>")),
              "<result_ack>\n    <name>a1</name>\n</result_ack>\n<result_ack>\n    <name>a2</name>\n</result_ack>\n"
              "<result_abort>\n    <name>b</name>\n</result_abort>\n"
              "<result_abort_if_not_started>\n    <name>c</name>\n</result_abort_if_not_started>\n"
              "<code_sign_key>\n1024\nkey\n.\n</code_sign_key>\n"
              "<code_sign_key_signature>\nsig\n.\n</code_sign_key_signature>\n<message_ack/>\n"
              "<trickle_down>x</trickle_down>\n<trickle_down>y</trickle_down>\n"
              "<non_cpu_intensive/>\n<strict_memory_bound/>\n<verify_files_on_app_start/>\n"
              "<delete_file_info>f1</delete_file_info>\n<file_info/>\n<gui_urls>\n</gui_urls>\n"
              "<project_files>\n</project_files>\n</scheduler_reply>\n");
}

TEST(Reply, ResourcesWithoutApps) {
    const struct {
        int version;
        std::array<bool, kProcTypes> project, host;
        const char* text;
    } cases[] = {
        {80206, {true, true, true, true, true}, {true, true, false, false, false}, ""},
        {80206,
         {true, false, true, false, true},
         {true, true, false, true, true},
         "<no_rsc_apps>NVIDIA</no_rsc_apps>\n<no_rsc_apps>intel_gpu</no_rsc_apps>\n"},
        {80206, {true, false, false, false, false}, {true, false, false, false, false}, ""},
        {80206,
         {false, true, false, false, false},
         {true, true, false, false, false},
         "<no_rsc_apps>CPU</no_rsc_apps>\n"},
        {70040,
         {false, true, false, false, false},
         {true, true, false, false, false},
         "<no_rsc_apps>CPU</no_rsc_apps>\n"},
        {70039,
         {true, false, true, true, true},
         {true, true, false, false, false},
         "<no_cpu_apps>0</no_cpu_apps>\n<no_cuda_apps>1</no_cuda_apps>\n<no_ati_apps>0</no_ati_apps>\n"
         "<no_rsc_apps>NVIDIA</no_rsc_apps>\n"},
        // Nothing for any resource of the host: some 7.0 clients would never call again.
        {80206, {false, true, true, true, true}, {true, false, false, false, false}, ""},
        {70020, {false, false, false, false, false}, {true, true, true, true, true}, ""},
    };
    for (const auto& c : cases) {
        SchedulerReply r = full_reply(c.version);
        r.project_has_apps = c.project;
        r.host_has = c.host;
        EXPECT_THAT(write_reply(r),
                    HasSubstr(std::string("<team_name></team_name>\n") + c.text + "</scheduler_reply>"));
    }
    SchedulerReply unknown = full_reply();
    EXPECT_THAT(write_reply(unknown), Not(HasSubstr("_apps")));
}

TEST(EarlyReply, Form) {
    EXPECT_EQ(
        write_early_reply("Down </message>", 3600.7, true),
        "Content-type: text/plain\n\n<scheduler_reply>\n    <message priority=\"low\">Down < /message></message>\n"
        "    <request_delay>3600</request_delay>\n    <project_is_down/>\n    <ended>1</ended>\n</scheduler_reply>\n");
}

}  // namespace
}  // namespace sluice::test
