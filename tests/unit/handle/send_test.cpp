// SPDX-License-Identifier: LGPL-3.0-or-later
// New jobs: what reply and rows say of them, limits, and why there are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/rpc_world.h"

namespace sluice::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(Send, OneJobInReplyAndRows) {
    RpcWorld w("<report_grace_period>300</report_grace_period>");
    const Id host = w.add_host();
    const Id id = w.add_job();
    const ReplyText reply = w.send(asking(host, 5));
    ASSERT_THAT(reply.result_names(), SizeIs(1));
    const Result& r = w.db.results[id];
    EXPECT_EQ(reply.result_names()[0], r.name);
    EXPECT_EQ(r.server_state, ServerState::kInProgress);
    EXPECT_EQ(r.hostid, host);
    EXPECT_EQ(r.userid, 1);
    EXPECT_EQ(r.sent_time, w.clock.now_sec());
    EXPECT_EQ(r.app_version_id, 1);
    EXPECT_GT(r.flops_estimate, 0);
    const std::int64_t told = w.clock.now_sec() + 7 * 86400;
    EXPECT_EQ(reply.value("report_deadline"), std::to_string(told));
    EXPECT_EQ(r.report_deadline, told + 300) << "the server waits longer";
    EXPECT_EQ(w.db.workunits[r.workunitid].transition_time, told + 300);
    EXPECT_EQ((w.db.host_app_versions[{host, 1}].n_jobs_today), 1);
    EXPECT_EQ(w.pool.present(), 0);
    EXPECT_THAT(w.pool.held, IsEmpty());
}

TEST(Send, AsManyAsFillRequestAndNoMore) {
    RpcWorld w;
    const Id host = w.add_host();
    for (int i = 0; i < 20; ++i) w.add_job();  // 10 s each
    EXPECT_THAT(w.send(asking(host, 65)).result_names(), SizeIs(7));
    EXPECT_EQ(w.pool.present(), 13);
    EXPECT_EQ((w.db.host_app_versions[{host, 1}].n_jobs_today), 7);
}

TEST(Send, ATransitionThatComesSoonerStays) {
    RpcWorld w;
    const Id host = w.add_host();
    const Id id = w.add_job([&](Workunit& wu) { wu.transition_time = w.clock.now_sec() + 5; });
    w.send(asking(host, 5));
    EXPECT_EQ(w.db.workunits[w.db.results[id].workunitid].transition_time, w.clock.now_sec() + 5);
}

TEST(Send, TooSoonAfterTheLastRequest) {
    RpcWorld w("<min_sendwork_interval>60</min_sendwork_interval>");
    const Id host = w.add_host();
    w.add_job();
    w.db.hosts[host].rpc_time = w.clock.now_sec() - 20;
    const ReplyText reply = w.send(asking(host, 5));
    EXPECT_THAT(reply.messages(), Contains(HasSubstr("too recent. Please wait 40 seconds.")));
    EXPECT_THAT(reply.result_names(), IsEmpty());
    EXPECT_EQ(reply.value("request_delay"), "61.000000");
    w.clock.advance(61);
    RequestText again = asking(host, 5);
    again.seqno = 1;
    EXPECT_THAT(w.send(again).result_names(), SizeIs(1));
}

TEST(Send, AnEmptyPool) {
    RpcWorld w;
    const ReplyText reply = w.send(asking(w.add_host(), 5));
    EXPECT_THAT(reply.messages(), Contains("Project has no tasks available"));
}

TEST(Send, AnUnknownSigningKeyGetsNoWork) {
    RpcWorld w;
    w.add_job();
    RequestText r = asking(w.add_host(), 5);
    r.more = "<code_sign_key>\n1024\nabcdef\n.\n</code_sign_key>\n";
    const ReplyText reply = w.send(r);
    EXPECT_THAT(reply.result_names(), IsEmpty());
    EXPECT_TRUE(reply.has("The project has changed its security key."));
}

TEST(Send, AFormerSigningKeyIsReplacedBySignature) {
    RpcWorld w;
    w.add_job();
    w.files().write("keys/old_key_0", "1024\nabcdef\n.\n");
    w.files().write("keys/signature_stripped_0", "5161\n.\n");
    w.reload_files();
    RequestText r = asking(w.add_host(), 5);
    r.more = "<code_sign_key>\n1024\nabcdef\n.\n</code_sign_key>\n";
    const ReplyText reply = w.send(r);
    EXPECT_THAT(reply.result_names(), SizeIs(1));
    EXPECT_TRUE(reply.has("<code_sign_key_signature>\n5161\n.\n"));
}

struct NoWork {
    const char* what;
    std::string config;
    std::function<void(RpcWorld&, RequestText&)> set_up;
    std::string message;
};
class NothingSent : public ::testing::TestWithParam<NoWork> {};
TEST_P(NothingSent, IsExplained) {
    RpcWorld w(GetParam().config);
    RequestText r = asking(w.add_host(), 50);
    w.add_job();
    GetParam().set_up(w, r);
    w.reload_tables();
    const ReplyText reply = w.send(r);
    EXPECT_THAT(reply.result_names(), IsEmpty());
    EXPECT_THAT(reply.messages(), Contains("No tasks sent"));
    EXPECT_THAT(reply.messages(), Contains(HasSubstr(GetParam().message)));
    EXPECT_THAT(w.pool.held, IsEmpty());
    EXPECT_EQ(w.pool.present(), 1);
}
INSTANTIATE_TEST_SUITE_P(
    Reasons, NothingSent,
    ::testing::Values(
        NoWork{"memory", "",
               [](RpcWorld& w, RequestText&) { w.pool.slots[0].job.rsc_memory_bound = 16.0 * 1024 * 1024 * 1024; },
               "Upcase needs 16384.00 MB RAM but only 7629.39 MB is available for use."},
        NoWork{"disk", "", [](RpcWorld& w, RequestText&) { w.pool.slots[0].job.rsc_disk_bound = 1e15; },
               "MB more disk space."},
        NoWork{"deadline", "",
               [](RpcWorld& w, RequestText& r) {
                   w.pool.slots[0].job.rsc_fpops_est = 1e18;
                   r.more = "<estimated_delay>1000</estimated_delay>";
               },
               "Tasks won't finish in time: BOINC runs 100.0% of the time; computation is enabled 100.0% of that"},
        NoWork{"quota", "",
               [](RpcWorld& w, RequestText& r) {
                   w.db.host_app_versions[{r.hostid, 1}] = {r.hostid, 1, 0, 0, {}, 1, 5, {}, 0};
               },
               "This computer has finished a daily quota of 1 tasks"},
        NoWork{"in_progress", "<max_wus_in_progress>1</max_wus_in_progress>",
               [](RpcWorld&, RequestText& r) {
                   r.others = {"a", "b", "c", "d"};
               },
               "This computer has reached a limit on tasks in progress"},
        NoWork{"prefs", "",
               [](RpcWorld& w, RequestText&) {
                   w.db.users[1].project_prefs =
                       "<project_preferences><project_specific><no_cpu>1</no_cpu>"
                       "</project_specific></project_preferences>";
               },
               "Tasks for CPU are available, but your preferences are set to not accept them"},
        NoWork{"other_class", "",
               [](RpcWorld& w, RequestText&) {
                   w.db.apps[1].homogeneous_redundancy = HrType::kCoarse;
                   w.pool.slots[0].job.hr_class = 386;
               },
               "Tasks are committed to other platforms"},
        NoWork{"class_unknown", "<homogeneous_redundancy>2</homogeneous_redundancy>",
               [](RpcWorld&, RequestText& r) {
                   r.more =
                       "<host_info><p_ncpus>1</p_ncpus><p_vendor>x</p_vendor><os_name>FreeBSD</os_name>"
                       "<m_nbytes>8e9</m_nbytes><d_free>5e11</d_free></host_info>";
               },
               "Your computer type is not supported by this project"},
        NoWork{"selected", "",
               [](RpcWorld& w, RequestText&) {
                   App other = w.db.apps[1];
                   other.id = 2;
                   other.name = "other";
                   other.user_friendly_name = "Other";
                   w.db.apps[2] = other;
                   w.db.users[1].project_prefs =
                       "<project_preferences><project_specific><app_id>2</app_id>"
                       "</project_specific></project_preferences>";
               },
               "No tasks are available for Other"}),
    [](const auto& tested) { return std::string(tested.param.what); });

TEST(Send, AdaptiveReplicationOfUntrustedHosts) {
    for (const int valid : {0, 1000000}) {
        RpcWorld w;
        w.db.apps[1].target_nresults = 3;
        w.reload_tables();
        const Id host = w.add_host();
        w.db.host_app_versions[{host, 1}] = {host, 1, 0, 0, {}, 500, 0, {}, valid};
        const Id id = w.add_job();
        ASSERT_THAT(w.send(asking(host, 5)).result_names(), SizeIs(1));
        const Workunit& wu = w.db.workunits[w.db.results[id].workunitid];
        EXPECT_EQ(wu.target_nresults, valid == 0 ? 3 : 1);
        EXPECT_EQ(wu.min_quorum, valid == 0 ? 3 : 1);
        EXPECT_EQ(wu.transition_time == w.clock.now_sec(), valid == 0);
    }
}

TEST(Send, FirstInstanceCommitsItsWorkunitToClass) {
    RpcWorld w;
    w.db.apps[1].homogeneous_redundancy = HrType::kCoarse;
    w.db.apps[1].homogeneous_app_version = true;
    w.reload_tables();
    const Id id = w.add_job();
    ASSERT_THAT(w.send(asking(w.add_host(), 5)).result_names(), SizeIs(1));
    const Workunit& wu = w.db.workunits[w.db.results[id].workunitid];
    EXPECT_EQ(wu.hr_class, 256 + 2) << "Linux, Intel";
    EXPECT_EQ(wu.app_version_id, 1);
}

TEST(Send, DocumentThatCantBeSentIsHeldBack) {
    RpcWorld w;
    const Id host = w.add_host();
    const Id bad = w.add_job(), good = w.add_job();
    w.pool.slots[0].doc.wu_xml = "no document at all";
    EXPECT_THAT(w.send(asking(host, 15)).result_names(), SizeIs(1));
    EXPECT_EQ(w.db.results[bad].server_state, ServerState::kUnsent);
    EXPECT_EQ(w.db.results[good].server_state, ServerState::kInProgress);
    EXPECT_EQ(w.pool.slots[0].state, SlotState::kEmpty) << "it costs no other request";
}

/// `bad` jobs of high priority whose XML a column that is too small has cut, and `good` ones.
void add_cut_jobs(RpcWorld& w, int bad, int good) {
    for (int i = 0; i < bad + good; ++i) {
        const Id id = w.add_job();
        if (i >= bad) continue;
        auto& slot = w.pool.slots.back();
        slot.job.priority = 9;
        w.db.results[id].priority = 9;
        if (i % 2 == 0)
            slot.doc.wu_xml.resize(slot.doc.wu_xml.find("</workunit>"));
        else
            w.db.results[id].xml_doc_in.resize(w.db.results[id].xml_doc_in.find("</result>"));
    }
}

TEST(Send, UnsendableJobsGiveWay) {
    for (const char* config : {"", "<mm_min_slots>1</mm_min_slots>", "<mm_min_slots>5</mm_min_slots>"})
        for (const int level : {0, 1}) {
            RpcWorld w(config, level);
            add_cut_jobs(w, 20, 60);
            for (int i = 0; i < 12; ++i) {
                ASSERT_THAT(w.send(asking(w.add_host(), 5)).result_names(), SizeIs(1))
                    << "request " << i << ", level " << level << ", " << config;
                EXPECT_THAT(w.pool.held, IsEmpty());
            }
            for (const auto& [id, r] : w.db.results)
                EXPECT_TRUE(r.priority == 0 || r.server_state == ServerState::kUnsent) << id;
        }
}

TEST(Send, AnUnsendableVersionLeavesItsJobs) {
    RpcWorld w;
    AppVersion newer = w.db.versions[1];
    newer.id = 2;
    newer.plan_class = "sse3";  // faster: it would be chosen
    newer.xml_doc.resize(newer.xml_doc.find("</app_version>"));
    w.db.versions[2] = newer;
    w.reload_tables();
    for (int i = 0; i < 3; ++i) w.add_job();
    const Id host = w.add_host();
    RequestText r = asking(host, 25);
    r.more = "<client_cap_plan_class>1</client_cap_plan_class>";
    EXPECT_THAT(w.send(r).result_names(), SizeIs(3));
    EXPECT_EQ(w.db.results[1].app_version_id, 1);
}

TEST(Send, DocumentsOfAnyLengthAreSent) {
    RpcWorld w;
    const std::string files(300 << 10, 'f'), words(200 << 10, 'w');
    w.db.versions[1].xml_doc.insert(0, "<file_info>\n<name>" + files + "</name>\n</file_info>\n");
    w.reload_tables();
    w.add_job();
    std::string& xml = w.pool.slots[0].doc.wu_xml;
    xml.insert(xml.find("</workunit>"), "<command_line>\n" + words + "\n</command_line>\n");
    const ReplyText reply = w.send(asking(w.add_host(), 5));
    EXPECT_THAT(reply.result_names(), SizeIs(1));
    EXPECT_TRUE(reply.has(files)) << "about 400 files";
    EXPECT_TRUE(reply.has(words));
}

TEST(Send, OfNonCpuIntensiveAppsToo) {
    RpcWorld w;
    w.db.apps[1].non_cpu_intensive = true;
    w.reload_tables();
    add_cut_jobs(w, 2, 1);
    EXPECT_THAT(w.send(asking(w.add_host(), 0)).result_names(), SizeIs(1));
    EXPECT_EQ(w.pool.present(), 0);
}

TEST(Send, NonCpuIntensiveAppsGiveOneJobUnasked) {
    RpcWorld w;
    w.db.apps[1].non_cpu_intensive = true;
    w.reload_tables();
    const Id host = w.add_host();
    for (int i = 0; i < 3; ++i) w.add_job();
    RequestText r = asking(host, 0);
    ReplyText reply = w.send(r);
    ASSERT_THAT(reply.result_names(), SizeIs(1));
    r.others = reply.result_names();
    r.seqno = 1;
    EXPECT_THAT(w.send(r).result_names(), IsEmpty()) << "it has one";
    r.others.clear();
    r.more = "<dont_send_work>1</dont_send_work>";
    EXPECT_THAT(w.send(r).result_names(), IsEmpty());
}

TEST(Send, OldClientsAskWithOneNumber) {
    RpcWorld w;
    const Id host = w.add_host();
    for (int i = 0; i < 5; ++i) w.add_job();
    RequestText r = asking(host, 25);
    r.client_version = "5.10.45";
    r.more = "<cpu_req_secs>0</cpu_req_secs>";
    EXPECT_THAT(w.send(r).result_names(), SizeIs(3));
}

}  // namespace
}  // namespace sluice::test
