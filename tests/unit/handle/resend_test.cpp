// SPDX-License-Identifier: LGPL-3.0-or-later
// Lost jobs and useless jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/rpc_world.h"

namespace sluice::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const char* const kResend = "<resend_lost_results>1</resend_lost_results>";

TEST(Resend, LostJobIsSentAgainAndNothingNew) {
    RpcWorld w(kResend);
    const Id host = w.add_host();
    const Result lost = w.add_in_progress(host), there = w.add_in_progress(host);
    w.add_job();
    RequestText r = asking(host, 1000);
    r.others = {there.name};
    const ReplyText reply = w.send(r);
    EXPECT_THAT(reply.result_names(), ElementsAre(lost.name));
    EXPECT_THAT(reply.messages(), Contains("Resent lost task " + lost.name));
    const Result& after = w.db.results[lost.id];
    EXPECT_EQ(after.sent_time, w.clock.now_sec());
    EXPECT_EQ(after.report_deadline, lost.report_deadline);
    EXPECT_EQ(reply.value("report_deadline"), std::to_string(lost.report_deadline));
    EXPECT_TRUE(w.db.host_app_versions.empty() || w.db.host_app_versions.begin()->second.n_jobs_today == 0)
        << "it counted when it was sent first";
    EXPECT_EQ(w.pool.present(), 1);
}

TEST(Resend, TheGracePeriodIsAddedOnceHoweverOften) {
    RpcWorld w(std::string(kResend) + "<report_grace_period>500</report_grace_period>");
    const Id host = w.add_host();
    Result& lost = w.add_in_progress(host);
    lost.report_deadline += 500;  // as it was sent first
    const std::int64_t deadline = lost.report_deadline;
    for (int i = 0; i < 3; ++i) {
        RequestText r = asking(host, 1000);
        r.seqno = i;
        EXPECT_EQ(w.send(r).value("report_deadline"), std::to_string(deadline - 500));
        EXPECT_EQ(w.db.results[lost.id].report_deadline, deadline);
        w.clock.advance(10);
    }
}

TEST(Resend, ALateJobKeepsItsDeadline) {
    for (const int level : {0, 1}) {
        RpcWorld w(kResend, level);
        const Id host = w.add_host();
        Result& lost = w.add_in_progress(host);
        lost.sent_time = w.clock.now_sec() - 6 * 86400;
        lost.report_deadline = w.clock.now_sec() + 86400;
        w.send(asking(host, 1000));
        EXPECT_EQ(w.db.results[lost.id].report_deadline - w.clock.now_sec(), level == 0 ? 86400 : 7 * 86400 / 2);
    }
}

TEST(Resend, AHopelessOneGetsItsWholeTime) {
    RpcWorld w(kResend);
    const Id host = w.add_host();
    Result& lost = w.add_in_progress(host);
    lost.sent_time = w.clock.now_sec() - 6 * 86400;
    lost.report_deadline = w.clock.now_sec() + 1000;
    w.db.workunits[lost.workunitid].rsc_fpops_est = 2e12;  // 2000 s
    RequestText r = asking(host, 1000);
    r.more = "<estimated_delay>10</estimated_delay>";
    EXPECT_THAT(w.send(r).result_names(), ElementsAre(lost.name));
    EXPECT_EQ(w.db.results[lost.id].report_deadline, w.clock.now_sec() + 7 * 86400);
}

TEST(Resend, AnUnsendableLostJobTimesOut) {
    RpcWorld w(kResend);
    const Id host = w.add_host();
    const Result good = w.add_in_progress(host), bad = w.add_in_progress(host);
    std::string& xml = w.db.workunits[bad.workunitid].xml_doc;
    xml.resize(xml.find("</workunit>"));
    RequestText r = asking(host, 1000);
    r.others = {"none of these"};
    EXPECT_THAT(w.send(r).result_names(), ElementsAre(good.name));
    EXPECT_LT(w.db.results[bad.id].report_deadline, w.clock.now_sec()) << "the transitioner makes another";
}

TEST(Resend, OfALongVersionToo) {
    RpcWorld w(kResend);
    w.db.versions[1].xml_doc.insert(0, "<file_info>\n<name>" + std::string(300 << 10, 'f') + "</name>\n</file_info>\n");
    w.reload_tables();
    const Id host = w.add_host();
    const Result lost = w.add_in_progress(host);
    RequestText r = asking(host, 1000);
    r.others = {"none of these"};
    EXPECT_THAT(w.send(r).result_names(), ElementsAre(lost.name));
}

TEST(Resend, NonCpuIntensiveJobsToo) {
    RpcWorld w(kResend);
    w.db.apps[1].non_cpu_intensive = true;
    w.reload_tables();
    const Id host = w.add_host();
    const Result lost = w.add_in_progress(host);
    EXPECT_THAT(w.send(asking(host, 1000)).result_names(), ElementsAre(lost.name));
    EXPECT_EQ(w.db.results[lost.id].report_deadline, w.clock.now_sec() + w.db.workunits[lost.workunitid].delay_bound)
        << "no deadline is checked for what runs beside other jobs: it gets its time anew, as upstream";
}

TEST(Resend, WhomJobIsReservedForNoLongerMatters) {
    RpcWorld w(std::string(kResend) + "<batch_accel>1</batch_accel>");
    w.db.apps[1].n_size_classes = 1;
    w.reload_tables();
    const Id host = w.add_host();
    const Result lost = w.add_in_progress(host);
    w.db.workunits[lost.workunitid].priority = 1;
    EXPECT_THAT(w.send(asking(host, 1000)).result_names(), ElementsAre(lost.name));
}

struct Why {
    const char* what;
    std::function<void(RpcWorld&, Result&)> change;
};
class NotResent : public ::testing::TestWithParam<Why> {};
TEST_P(NotResent, IsTimedOutInstead) {
    RpcWorld w(kResend);
    const Id host = w.add_host();
    Result& lost = w.add_in_progress(host);
    GetParam().change(w, lost);
    w.reload_tables();
    const Result before = lost;
    const ReplyText reply = w.send(asking(host, 1000));
    EXPECT_EQ(reply.malformed(), "");
    EXPECT_THAT(reply.result_names(), IsEmpty());
    EXPECT_THAT(reply.messages(), Contains("Didn't resend lost task " + before.name + " (expired)"));
    EXPECT_EQ(w.db.results[before.id].report_deadline, w.clock.now_sec() - 1);
    EXPECT_EQ(w.db.results[before.id].server_state, ServerState::kInProgress) << "the transitioner times it out";
    EXPECT_EQ(w.db.results[before.id].sent_time, before.sent_time);
    EXPECT_EQ(w.db.workunits[before.workunitid].transition_time, w.clock.now_sec() - 1);
}
INSTANTIATE_TEST_SUITE_P(
    Reasons, NotResent,
    ::testing::Values(
        Why{"cancelled", [](RpcWorld& w, Result& r) { w.db.workunits[r.workunitid].error_mask = 16; }},
        Why{"late", [](RpcWorld& w, Result& r) { r.report_deadline = w.clock.now_sec() - 5; }},
        Why{"not_selected",
            [](RpcWorld& w, Result&) {
                w.db.users[1].project_prefs =
                    "<project_preferences><project_specific><app_id>7</app_id>"
                    "<allow_non_preferred_apps>1</allow_non_preferred_apps>"
                    "</project_specific></project_preferences>";
            }},
        Why{"done", [](RpcWorld& w, Result& r) { w.db.workunits[r.workunitid].canonical_resultid = 5; }},
        Why{"app_gone",
            [](RpcWorld& w, Result& r) {
                w.db.workunits[r.workunitid].appid = 9;
                r.appid = 9;
            }},
        Why{"no_version", [](RpcWorld& w, Result&) { w.db.versions[1].platformid = 2; }},
        Why{"too_long", [](RpcWorld& w, Result& r) { w.db.workunits[r.workunitid].rsc_fpops_est = 1e18; }},
        Why{"too_much_memory", [](RpcWorld& w, Result& r) { w.db.workunits[r.workunitid].rsc_memory_bound = 1e15; }}),
    [](const auto& tested) { return std::string(tested.param.what); });

TEST(Resend, AWorkunitThatIsGone) {
    RpcWorld w(kResend);
    const Id host = w.add_host();
    Result& lost = w.add_in_progress(host);
    w.db.workunits.erase(lost.workunitid);
    EXPECT_EQ(w.send(asking(host, 1000)).malformed(), "");
}

TEST(Resend, NotWithoutNeed) {
    RpcWorld w(kResend);
    const Id host = w.add_host();
    w.add_in_progress(host);
    RequestText r = asking(host, 1000);
    r.list_others = false;
    EXPECT_THAT(w.send(r).result_names(), IsEmpty()) << "the client does not say what it has";
    r = asking(host, 1000);
    r.more = "<dont_send_work/>";
    r.seqno = 1;
    EXPECT_THAT(w.send(r).result_names(), IsEmpty()) << "the volunteer wants none";
}

// Upstream lets them wait for a request for work, and time out meanwhile.
TEST(Resend, EvenIfNothingIsAskedFor) {
    for (const int level : {0, 1}) {
        RpcWorld w(kResend, level);
        const Id host = w.add_host();
        const Result lost = w.add_in_progress(host), lost_too = w.add_in_progress(host);
        w.add_job();
        RequestText r = asking(host, 1000);
        r.work_seconds = 0;
        EXPECT_THAT(w.send(r).result_names(), ElementsAre(lost_too.name, lost.name));
        EXPECT_EQ(w.pool.present(), 1) << "nothing new";
    }
}

TEST(Resend, AtLevelOneAllWhateverIsAskedFor) {
    for (const int level : {0, 1}) {
        RpcWorld w(kResend, level);
        const Id host = w.add_host();
        std::vector<std::string> names;
        for (int i = 0; i < 3; ++i) names.insert(names.begin(), w.add_in_progress(host).name);
        const ReplyText reply = w.send(asking(host, 1));
        if (level == 0) names.resize(1);
        EXPECT_EQ(reply.result_names(), names);
        for (const auto& [id, result] : w.db.results)
            EXPECT_GT(result.report_deadline, w.clock.now_sec()) << "none is timed out because it is not needed";
    }
}

TEST(Resend, RepeatedReportMeansThatLastReplyWasLost) {
    RpcWorld w;  // not configured
    const Id host = w.add_host();
    const Result lost = w.add_in_progress(host);
    Result& twice = w.add_in_progress(host);
    twice.server_state = ServerState::kOver;
    twice.outcome = Outcome::kSuccess;
    twice.received_time = 5;
    RequestText r = asking(host, 1000);
    EXPECT_THAT(w.send(r).result_names(), IsEmpty());
    r.reported = {twice.name};
    r.seqno = 1;
    EXPECT_THAT(w.send(r).result_names(), ElementsAre(lost.name));
}

TEST(Resend, NotWhileReportsWait) {
    RpcWorld w(std::string(kResend) + "<report_max>1</report_max>");
    const Id host = w.add_host();
    RequestText r = asking(host, 1000);
    for (int i = 0; i < 3; ++i) r.reported.push_back(w.add_in_progress(host).name);
    EXPECT_THAT(w.send(r).result_names(), IsEmpty());
}

TEST(Abort, WhatNobodyNeedsAnyMore) {
    RpcWorld w("<send_result_abort>1</send_result_abort>");
    const Id host = w.add_host(), other = w.add_host();
    const Result fine = w.add_in_progress(host), cancelled = w.add_in_progress(host), done = w.add_in_progress(host),
                 late = w.add_in_progress(host), foreign = w.add_in_progress(other);
    w.db.workunits[cancelled.workunitid].error_mask = 16;
    w.db.workunits[done.workunitid].assimilate_state = AssimilateState::kDone;
    w.db.results[late.id].server_state = ServerState::kOver;
    w.db.results[late.id].outcome = Outcome::kNoReply;
    RequestText r;
    r.hostid = host;
    r.others = {fine.name, cancelled.name, done.name, late.name, foreign.name, "unknown"};
    const ReplyText reply = w.send(r);
    const auto aborted = [&](const std::string& tag, const std::string& name) {
        return reply.has("<" + tag + ">\n    <name>" + name + "</name>\n</" + tag + ">");
    };
    for (const std::string& name : {cancelled.name, foreign.name, std::string("unknown")}) {
        EXPECT_TRUE(aborted("result_abort", name)) << name;
        EXPECT_THAT(reply.messages(), Contains("Result " + name + " is no longer usable"));
    }
    for (const std::string& name : {done.name, late.name})
        EXPECT_TRUE(aborted("result_abort_if_not_started", name)) << name;
    EXPECT_FALSE(reply.has(fine.name));
}

// Such a job has no row; aborted at the next request, a long upload never ended.
TEST(Abort, NotFileTransfers) {
    RpcWorld w("<send_result_abort/><msg_to_host/>");
    RequestText r;
    r.hostid = w.add_host();
    r.others = {"upload_trace.txt", "download_table_1"};
    const ReplyText reply = w.send(r);
    EXPECT_FALSE(reply.has("<result_abort"));
    EXPECT_THAT(reply.messages(), Not(Contains(HasSubstr("no longer usable"))));
    r.reported = {"upload_trace.txt"};
    r.others.clear();
    r.seqno = 1;
    EXPECT_TRUE(w.send(r).has("<result_ack>\n    <name>upload_trace.txt</name>"));
}

// Upstream, which has stored the report by then, finds it over and aborts it.
TEST(Abort, NotWhatIsReported) {
    RpcWorld w("<send_result_abort>1</send_result_abort>");
    RequestText r;
    r.hostid = w.add_host();
    r.reported = r.others = {w.add_in_progress(r.hostid).name};
    const ReplyText reply = w.send(r);
    EXPECT_TRUE(reply.has("<result_ack>"));
    EXPECT_FALSE(reply.has("<result_abort"));
}

TEST(Abort, OnlyIfConfigured) {
    RpcWorld w;
    RequestText r;
    r.hostid = w.add_host();
    r.others = {"unknown"};
    EXPECT_FALSE(w.send(r).has("<result_abort>"));
}

// Upstream chooses a version that its app's limits allow, or none.
TEST(Resend, LimitOfAppHoldsForLostJobsToo) {
    RpcWorld w(kResend);
    w.config.max_jobs_in_progress.apps = {{"up", {{1, false}, {}, {}}}};
    const Id host = w.add_host();
    const Result first = w.add_in_progress(host), second = w.add_in_progress(host);
    const ReplyText reply = w.send(asking(host, 100000));
    EXPECT_EQ(reply.result_names().size(), 1u) << reply.text();
    EXPECT_THAT(reply.messages(), Contains(::testing::HasSubstr("Didn't resend lost task")));
}

}  // namespace
}  // namespace sluice::test
