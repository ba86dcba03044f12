// SPDX-License-Identifier: LGPL-3.0-or-later
// Trickle messages, what the reply says of account and project, and the host's row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sluice/base/files.h"
#include "sluice/base/hash.h"
#include "tests/support/rpc_world.h"

namespace sluice::test {
namespace {

using ::testing::SizeIs;

TEST(Trickle, UpIsStoredAndAcknowledged) {
    RpcWorld w;
    RequestText r;
    r.hostid = w.add_host();
    r.more =
        "<msg_from_host>\n<variety>climate</variety>\n<result_name>r1</result_name>\n<text>it's 20° <b/></text>\n"
        "</msg_from_host>\n<msg_from_host>\n<variety>v2</variety>\n<x/>\n</msg_from_host>\n";
    EXPECT_TRUE(w.send(r).has("<message_ack/>"));
    ASSERT_THAT(w.db.from_host, SizeIs(2));
    EXPECT_EQ(w.db.from_host[1].variety, "climate");
    EXPECT_EQ(w.db.from_host[1].hostid, r.hostid);
    EXPECT_NE(w.db.from_host[1].xml.find("<text>it's 20° <b/></text>"), std::string::npos);
}

/// `n` messages of 1000 bytes, as they are counted.
std::string messages_of_1000(int n) {
    std::string out;
    for (int i = 0; i < n; ++i)
        out += "<msg_from_host><variety>vv</variety>" + std::string(742, 'x') + "</msg_from_host>\n";
    return out;
}

TEST(TricklesOfADay, TodaysExcessIsTakenTomorrow) {
    RpcWorld w("<max_trickle_bytes_per_day>10000</max_trickle_bytes_per_day>");
    RequestText r;
    r.hostid = w.add_host();
    const auto send = [&](int messages) {
        r.more = messages_of_1000(messages);
        ++r.seqno;
        return w.send(r);
    };
    EXPECT_TRUE(send(4).has("<message_ack/>"));
    EXPECT_TRUE(send(6).has("<message_ack/>")) << "to the byte";
    EXPECT_FALSE(send(0).has("wait until tomorrow"));
    const ReplyText over = send(1);
    EXPECT_FALSE(over.has("<message_ack/>")) << "the client keeps it";
    EXPECT_EQ(over.count("wait until tomorrow"), 1);
    EXPECT_THAT(w.db.from_host, SizeIs(10));
    w.clock.set(w.clock.now_sec() + 86400);
    const ReplyText tomorrow = send(1);
    EXPECT_TRUE(tomorrow.has("<message_ack/>"));
    EXPECT_FALSE(tomorrow.has("wait until tomorrow"));
    EXPECT_THAT(w.db.from_host, SizeIs(11));
    EXPECT_TRUE(send(9).has("<message_ack/>"));
    EXPECT_FALSE(send(1).has("<message_ack/>"));
}

TEST(TricklesOfADay, ATooLargeRequestIsCutAndTold) {
    RpcWorld w("<max_trickle_bytes_per_day>10000</max_trickle_bytes_per_day>");
    RequestText r;
    r.hostid = w.add_host();
    r.more = messages_of_1000(25);
    const ReplyText reply = w.send(r);
    EXPECT_TRUE(reply.has("<message_ack/>")) << "or the client would send them for ever";
    EXPECT_EQ(reply.count("15 messages of this computer's tasks were too many"), 1);
    EXPECT_THAT(w.db.from_host, SizeIs(10));
    ++r.seqno;
    EXPECT_FALSE(w.send(r).has("<message_ack/>")) << "the day is used up: they wait";
    EXPECT_THAT(w.db.from_host, SizeIs(10));
}

TEST(TricklesOfADay, OnlyWhatWasCommittedCounts) {
    RpcWorld w("<max_trickle_bytes_per_day>10000</max_trickle_bytes_per_day>");
    RequestText r;
    r.hostid = w.add_host();
    r.more = messages_of_1000(6);
    w.db.before = [](const std::string& verb) {
        if (verb == "unit_of_work.commit") throw DbError(DbError::Kind::kOther, 1, "disk full");
    };
    w.send(r);
    w.db.before = {};
    EXPECT_TRUE(w.send(r).has("<message_ack/>"));
    EXPECT_THAT(w.db.from_host, SizeIs(6));
}

TEST(TricklesOfADay, WithoutALimitAllAreTaken) {
    RpcWorld w("<max_trickle_bytes_per_day>0</max_trickle_bytes_per_day>");
    RequestText r;
    r.hostid = w.add_host();
    r.more = messages_of_1000(20000);
    EXPECT_TRUE(w.send(r).has("<message_ack/>"));
    EXPECT_THAT(w.db.from_host, SizeIs(20000));
}

TEST(TricklesOfADay, ByDefaultNoHonestClientMeetsTheLimit) {
    RpcWorld w;
    RequestText r;
    r.hostid = w.add_host();
    r.more = messages_of_1000(10000);  // six weeks without network, 20 jobs, a message every two hours
    const ReplyText reply = w.send(r);
    EXPECT_TRUE(reply.has("<message_ack/>"));
    EXPECT_FALSE(reply.has("too many"));
    EXPECT_THAT(w.db.from_host, SizeIs(10000)) << "500 were stored, and all acknowledged";
}

TEST(TricklesOfAnAccount, ItsHostsShareADay) {
    RpcWorld w("<max_account_trickle_bytes_per_day>10000</max_account_trickle_bytes_per_day>");
    const Id first = w.add_host(), second = w.add_host();
    int seqno = 0;
    const auto send = [&](Id host, int messages) {
        RequestText r;
        r.hostid = host;
        r.seqno = ++seqno;
        r.more = messages_of_1000(messages);
        return w.send(r);
    };
    EXPECT_TRUE(send(first, 6).has("<message_ack/>"));
    EXPECT_TRUE(send(second, 4).has("<message_ack/>")) << "to the byte";
    const ReplyText over = send(second, 1);
    EXPECT_FALSE(over.has("<message_ack/>")) << "the client keeps it";
    EXPECT_EQ(over.count("today the computers of this account sent as many"), 1);
    EXPECT_FALSE(send(first, 0).has("of this account"));
    EXPECT_THAT(w.db.from_host, SizeIs(10));
    RequestText made;  // a new machine is no way around it
    made.more = messages_of_1000(1);
    EXPECT_FALSE(w.send(made).has("<message_ack/>"));
    EXPECT_THAT(w.db.from_host, SizeIs(10));
    w.clock.set(w.clock.now_sec() + 86400);
    EXPECT_TRUE(send(second, 10).has("<message_ack/>"));
    EXPECT_FALSE(send(first, 1).has("<message_ack/>"));
}

TEST(TricklesOfAnAccount, OneRequestTooLargeForDayIsTaken) {
    RpcWorld w("<max_account_trickle_bytes_per_day>10000</max_account_trickle_bytes_per_day>");
    RequestText r;
    r.hostid = w.add_host();
    r.more = messages_of_1000(25);
    EXPECT_TRUE(w.send(r).has("<message_ack/>")) << "or the client would send them for ever";
    EXPECT_THAT(w.db.from_host, SizeIs(25));
}

TEST(TricklesOfAnAccount, RequestsWithoutMessagesAskNothing) {
    RpcWorld w;
    RequestText r;
    r.hostid = w.add_host();
    w.db.before = [](const std::string& verb) { EXPECT_EQ(verb.find("trickle_bytes"), std::string::npos) << verb; };
    w.send(r);
}

TEST(Trickle, DownIsMarkedWithTheReply) {
    RpcWorld w("<msg_to_host>1</msg_to_host>");
    RequestText r;
    r.hostid = w.add_host();
    w.db.to_host[1] = {1, r.hostid, 0, "v", "<trickle_down>\nhello\n</trickle_down>", false};
    w.db.to_host[2] = {2, r.hostid, 0, "v", "<trickle_down>\nold\n</trickle_down>", true};
    const ReplyText reply = w.send(r);
    EXPECT_TRUE(reply.has("<trickle_down>\nhello\n</trickle_down>"));
    EXPECT_FALSE(reply.has("old"));
    EXPECT_TRUE(w.db.to_host[1].handled);
}

TEST(Trickle, NothingIsMarkedOrStoredIfCommitFails) {
    RpcWorld w("<msg_to_host>1</msg_to_host>");
    RequestText r;
    r.hostid = w.add_host();
    r.more = "<msg_from_host>\n<variety>v</variety>\n</msg_from_host>\n";
    w.db.to_host[1] = {1, r.hostid, 0, "v", "<trickle_down/>", false};
    w.db.before = [](const std::string& verb) {
        if (verb == "unit_of_work.commit") throw DbError(DbError::Kind::kOther, 1, "disk full");
    };
    const ReplyText reply = w.send(r);
    EXPECT_TRUE(reply.has("<project_is_down/>"));
    EXPECT_FALSE(reply.has("<message_ack/>"));
    w.db.before = {};
    EXPECT_FALSE(w.db.to_host[1].handled);
    EXPECT_TRUE(w.db.from_host.empty());
}

TEST(Trickle, AReplicatedMessageLeavesTheHostsDescriptionAlone) {
    RpcWorld w;
    RequestText r;
    r.hostid = w.add_host();
    w.send(r);
    const Host before = w.db.hosts[r.hostid];
    RequestText mini;
    mini.hostid = r.hostid;
    mini.seqno = 7;
    mini.host_info = false;
    mini.list_others = false;
    mini.more = "<msg_from_host>\n<variety>v</variety>\n</msg_from_host>\n";
    const ReplyText reply = w.send(mini);
    EXPECT_TRUE(reply.has("<message_ack/>"));
    const Host& after = w.db.hosts[r.hostid];
    EXPECT_EQ(after.p_model, before.p_model);
    EXPECT_EQ(after.misc, before.misc);
    EXPECT_EQ(after.host_cpid, before.host_cpid) << "not hashed a second time";
    EXPECT_EQ(after.on_frac, before.on_frac);
    EXPECT_EQ(after.rpc_seqno, 7);
}

TEST(Reply, AccountTeamAndProject) {
    RpcWorld w(
        "<next_rpc_delay>7200</next_rpc_delay><symstore>http://sym</symstore><ended>1</ended>"
        "<strict_memory_bound>1</strict_memory_bound>");
    w.db.users[1].teamid = 3;
    w.db.teams[3] = {3, "A & B"};
    w.files().write("gui_urls.xml", "<gui_urls><ifteam><u>t=<teamid/></u></ifteam><u>id=<userid/></u></gui_urls>");
    w.files().write("project_files.xml", "<project_files>\n</project_files>\n");
    w.reload_files();
    RequestText r;
    r.hostid = w.add_host();
    const ReplyText reply = w.send(r);
    EXPECT_EQ(reply.value("teamid"), "3");
    EXPECT_EQ(reply.value("team_name"), "A &amp; B");
    EXPECT_EQ(reply.value("email_hash"), md5_hex("alice@example.org"));
    EXPECT_EQ(reply.value("external_cpid"), md5_hex("cpid-of-alicealice@example.org"));
    EXPECT_EQ(reply.value("next_rpc_delay"), "7200.000000");
    EXPECT_EQ(reply.value("symstore"), "http://sym");
    EXPECT_EQ(reply.value("ended"), "1");
    EXPECT_TRUE(reply.has("<strict_memory_bound/>"));
    EXPECT_TRUE(reply.has("t=3"));
    EXPECT_TRUE(reply.has("id=1"));
    EXPECT_TRUE(reply.has("<project_files>\n</project_files>"));
}

TEST(HostRow, WhatClientSaysAndNotWhatItDoesnt) {
    RpcWorld w;
    const Id host = w.add_host();
    w.db.hosts[host].last_ip_addr = "10.0.0.1";
    w.db.hosts[host].total_credit = 5;
    w.db.hosts[host].venue = "work";
    RequestText r;
    r.hostid = host;
    r.more =
        "<disk_usage><d_boinc_used_total>11</d_boinc_used_total><d_project_share>22</d_project_share></disk_usage>"
        "<coprocs><coproc_cuda><count>2</count><name>GTX \"x\"</name><peak_flops>1e12</peak_flops>"
        "<have_cuda>1</have_cuda><drvVersion>53000</drvVersion><totalGlobalMem>4294967296</totalGlobalMem>"
        "</coproc_cuda></coprocs><dont_use_docker/>";
    w.send(r);
    const Host& h = w.db.hosts[host];
    EXPECT_EQ(h.nsame_ip_addr, 1);
    EXPECT_EQ(h.timezone, 3600);
    EXPECT_EQ(h.d_boinc_used_total, 11);
    EXPECT_EQ(h.d_boinc_max, 22);
    EXPECT_EQ(h.p_ngpus, 2);
    EXPECT_EQ(h.p_gpu_fpops, 2e12);
    EXPECT_EQ(h.total_credit, 5);
    EXPECT_EQ(h.venue, "work");
    EXPECT_EQ(h.connected_frac, -1);
    const auto misc = nlohmann::json::parse(h.misc);
    EXPECT_EQ(misc["client_version"], "8.0.2");
    EXPECT_EQ(misc["gpus"][0]["type"], "nvidia");
    EXPECT_EQ(misc["gpus"][0]["model"], "GTX \"x\"");
    EXPECT_EQ(misc["gpus"][0]["ram_mb"], 4096);
    EXPECT_EQ(misc["config"]["dont_use_docker"], true);
}

TEST(HostRow, WhatARequestLeavesOutStays) {
    RpcWorld w;
    RequestText r;
    r.hostid = w.add_host();
    r.host_info = false;  // this brings time_stats along
    r.more = "<time_stats><on_frac>0.5</on_frac></time_stats>";
    w.send(r);
    EXPECT_EQ(w.db.hosts[r.hostid].on_frac, 0.5);
    r.more.clear();
    r.seqno = 1;
    w.send(r);
    EXPECT_EQ(w.db.hosts[r.hostid].on_frac, 0.5) << "upstream sets it to 0";
}

TEST(TimeStats, AreAskedForOnceAndStored) {
    RpcWorld w("<request_time_stats_log>1</request_time_stats_log>");
    RequestText r;
    r.hostid = w.add_host();
    EXPECT_TRUE(w.send(r).has("<send_time_stats_log>1</send_time_stats_log>"));
    r.more = "<time_stats_log>\n1 power_on\n</time_stats_log>\n";
    r.seqno = 1;
    EXPECT_FALSE(w.send(r).has("<send_time_stats_log>"));
    const std::string id = std::to_string(r.hostid);
    EXPECT_EQ(read_file(w.folder() / "time_stats_log" / id / id).value_or("no file"), "\n1 power_on\n");
}

TEST(TimeStats, UnaskedTheyAreNotStored) {
    RpcWorld w;
    RequestText r;
    r.hostid = w.add_host();
    r.more = "<time_stats_log>\n1 power_on\n</time_stats_log>\n";
    const ReplyText reply = w.send(r);
    EXPECT_EQ(reply.malformed(), "");
    EXPECT_FALSE(reply.has("<send_time_stats_log>"));
    EXPECT_FALSE(std::filesystem::exists(w.folder() / "time_stats_log"));
}

/// How often `part` is in what `action` logs.
template <typename Action>
int logged(const std::string& part, const Action& action) {
    testing::internal::CaptureStderr();
    action();
    return ReplyText{{0, 0, 0, testing::internal::GetCapturedStderr(), ""}}.count(part);
}

TEST(Log, ClientThatMakesUpNamesDoesntFillIt) {
    RpcWorld w;
    RequestText r;
    r.hostid = w.add_host();
    for (int i = 0; i < 4000; ++i) r.reported.push_back("made_up_" + std::to_string(i));
    EXPECT_EQ(logged("reported result", [&] { EXPECT_EQ(w.send(r).count("<result_ack>"), 4000); }), 21);
    r.seqno = 1;
    EXPECT_EQ(logged("3980 more reported results not in DB", [&] { w.send(r); }), 1);
    r.seqno = 2;
    r.reported.clear();
    for (int i = 0; i < 400; ++i) r.more += "<msg_from_host>\n<variety>v</variety>\n</msg_from_host>\n";
    EXPECT_EQ(logged("got msg from host", [&] { w.send(r); }), 20);
    EXPECT_THAT(w.db.from_host, SizeIs(400));
}

TEST(HostRow, HostileNumbersAndTextsDoNoHarm) {
    RpcWorld w;
    RequestText r;
    r.hostid = w.add_host();
    r.more =
        "<duration_correction_factor>nan</duration_correction_factor><time_stats><on_frac>inf</on_frac>"
        "</time_stats><host_info><p_ncpus>99999999999</p_ncpus><p_fpops>1e999</p_fpops><m_nbytes>-5</m_nbytes>"
        "<domain_name>'; DROP TABLE host; --</domain_name></host_info>";
    EXPECT_EQ(w.send(r).malformed(), "");
    EXPECT_EQ(w.db.hosts[r.hostid].domain_name, "'; DROP TABLE host; --");
}

TEST(TimeStats, AreAskedForOnceAndKept) {
    RpcWorld w("<request_time_stats_log>1</request_time_stats_log>");
    RequestText r;
    r.hostid = w.add_host();
    EXPECT_TRUE(w.send(r).has("<send_time_stats_log>1</send_time_stats_log>"));
    r.seqno = 1;
    r.more = "<time_stats_log>\n1 power_on\n</time_stats_log>\n";
    EXPECT_FALSE(w.send(r).has("<send_time_stats_log>"));
    EXPECT_NE(read_file(w.folder() / "time_stats_log/1/1").value_or("").find("1 power_on"), std::string::npos);
}

}  // namespace
}  // namespace sluice::test
