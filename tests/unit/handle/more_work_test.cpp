// SPDX-License-Identifier: LGPL-3.0-or-later
// Targeted and broadcast jobs, anonymous platform, preferences that bind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/rpc_world.h"

namespace sluice::test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

const char* const kTargeted =
    "<enable_assignment>1</enable_assignment>"
    "<dont_generate_upload_certificates>1</dont_generate_upload_certificates>";
const char* const kBroadcast = "<enable_assignment_multi>1</enable_assignment_multi>";

Id assigned_workunit(RpcWorld& w, AssignTarget type, Id target, bool multi = false) {
    const Id result = w.add_job();
    const Id wu = w.db.results[result].workunitid;
    w.db.results.erase(result);  // made by the scheduler when it is sent
    w.pool.slots.clear();
    const Id id = w.db.assignments.next_key();
    w.db.assignments[id] = {id, target, type, multi, wu, 0};
    w.reload_tables();
    return wu;
}

struct Target {
    const char* what;
    AssignTarget type;
    bool mine;
};
class Targeted : public ::testing::TestWithParam<Target> {};
TEST_P(Targeted, Jobs) {
    RpcWorld w(kTargeted);
    const Id host = w.add_host();
    w.db.users[1].teamid = 4;
    w.db.teams[4] = {4, "t"};
    const Id target = GetParam().mine ? (GetParam().type == AssignTarget::kTeam ? 4 : 1) : 77;
    const Id wu = assigned_workunit(w, GetParam().type, target);
    const ReplyText reply = w.send(asking(host, 5));
    if (!GetParam().mine) {
        EXPECT_THAT(reply.result_names(), IsEmpty());
        EXPECT_THAT(w.db.results, IsEmpty());
        return;
    }
    ASSERT_THAT(reply.result_names(), SizeIs(1));
    ASSERT_THAT(w.db.results, SizeIs(1));
    const Result& r = w.db.results.begin()->second;
    EXPECT_EQ(r.workunitid, wu);
    EXPECT_EQ(r.server_state, ServerState::kInProgress);
    EXPECT_EQ(r.hostid, host);
    EXPECT_THAT(r.name, StartsWith(w.db.workunits[wu].name + "_"));
    EXPECT_TRUE(reply.has("<name>" + r.name + "_r"));
    EXPECT_EQ(w.db.workunits[wu].transition_time, w.clock.now_sec() + 7 * 86400);
    EXPECT_EQ((w.db.host_app_versions[{host, 1}].n_jobs_today), 1);
    RequestText again = asking(host, 5);
    again.seqno = 1;
    again.others = reply.result_names();
    EXPECT_THAT(w.send(again).result_names(), IsEmpty()) << "one instance to a host";
}
INSTANTIATE_TEST_SUITE_P(All, Targeted,
                         ::testing::Values(Target{"user", AssignTarget::kUser, true},
                                           Target{"host", AssignTarget::kHost, true},
                                           Target{"team", AssignTarget::kTeam, true},
                                           Target{"other_user", AssignTarget::kUser, false},
                                           Target{"other_host", AssignTarget::kHost, false},
                                           Target{"other_team", AssignTarget::kTeam, false}),
                         [](const auto& tested) { return std::string(tested.param.what); });

TEST(TargetedJobs, WhateverResourceIsAskedFor) {
    RpcWorld w(kTargeted);
    assigned_workunit(w, AssignTarget::kUser, 1);
    RequestText r = asking(w.add_host(), 5);
    r.more =
        "<cpu_req_secs>0</cpu_req_secs><coprocs><coproc_cuda><type>NVIDIA</type><count>1</count><name>x</name>"
        "<req_secs>100</req_secs><peak_flops>1e12</peak_flops></coproc_cuda></coprocs>";
    w.db.versions[2] = w.db.versions[1];  // so that the project has GPU versions
    w.db.versions[2].id = 2;
    w.db.versions[2].plan_class = "cuda";
    w.reload_tables();
    EXPECT_THAT(w.send(r).result_names(), SizeIs(1));
}

TEST(TargetedJobs, NotIfTheWorkunitNeedsNone) {
    const std::vector<std::function<void(Workunit&)>> reasons = {
        [](Workunit& w) { w.error_mask = 16; }, [](Workunit& w) { w.need_validate = true; },
        [](Workunit& w) { w.canonical_resultid = 5; }, [](Workunit& w) { w.transition_time = 5; },
        [](Workunit& w) { w.target_nresults = 0; }};
    for (const auto& reason : reasons) {
        RpcWorld w(kTargeted);
        const Id host = w.add_host();
        reason(w.db.workunits[assigned_workunit(w, AssignTarget::kUser, 1)]);
        EXPECT_THAT(w.send(asking(host, 5)).result_names(), IsEmpty());
        EXPECT_THAT(w.db.results, IsEmpty());
    }
}

TEST(TargetedJobs, AssignmentsWithoutWorkunitAreRemoved) {
    RpcWorld w(kTargeted);
    const Id host = w.add_host();
    w.db.workunits.erase(assigned_workunit(w, AssignTarget::kUser, 1));
    w.send(asking(host, 5));
    EXPECT_THAT(w.db.assignments, IsEmpty());
}

TEST(TargetedJobs, AMissingTemplateLeavesNothingBehind) {
    RpcWorld w(kTargeted);
    const Id host = w.add_host();
    w.db.workunits[assigned_workunit(w, AssignTarget::kUser, 1)].result_template_file = "none";
    EXPECT_EQ(w.send(asking(host, 5)).malformed(), "");
    EXPECT_THAT(w.db.results, IsEmpty());
}

TEST(TargetedJobs, TakenByAnotherHostMeanwhile) {
    RpcWorld w(kTargeted);
    const Id host = w.add_host(), other = w.add_host();
    const Id wu = assigned_workunit(w, AssignTarget::kUser, 1);
    w.at_point = [&, done = false](const char* point) mutable {
        if (std::string(point) != "decided" || std::exchange(done, true)) return;
        Result r;
        r.id = 900;
        r.workunitid = wu;
        r.name = "theirs";
        r.server_state = ServerState::kInProgress;
        r.hostid = other;
        w.db.results[900] = r;
    };
    EXPECT_THAT(w.send(asking(host, 5)).result_names(), IsEmpty());
    EXPECT_EQ(w.db.results.size(), 1u);
}

TEST(TargetedJobs, UploadsAreSigned) {
    RpcWorld w("<enable_assignment>1</enable_assignment>");
    const Id host = w.add_host();
    assigned_workunit(w, AssignTarget::kUser, 1);
    EXPECT_TRUE(w.send(asking(host, 5)).has("<xml_signature>"));
}

TEST(BroadcastJobs, OneInstanceForEachHost) {
    RpcWorld w(kBroadcast);
    const Id a = w.add_host(), b = w.add_host();
    assigned_workunit(w, AssignTarget::kNone, 0, true);
    EXPECT_THAT(w.send(asking(a, 5)).result_names(), SizeIs(1));
    EXPECT_THAT(w.send(asking(b, 5)).result_names(), SizeIs(1));
    RequestText again = asking(a, 5);
    again.seqno = 1;
    EXPECT_THAT(w.send(again).result_names(), IsEmpty());
    EXPECT_THAT(w.db.results, SizeIs(2));
}

TEST(BroadcastJobs, TeamZeroIsNoTeam) {
    RpcWorld w(kBroadcast);
    const Id host = w.add_host();
    assigned_workunit(w, AssignTarget::kTeam, 0, true);
    EXPECT_THAT(w.send(asking(host, 5)).result_names(), IsEmpty());
}

TEST(BroadcastJobs, NotForThoseWhoOnlyWantTheirOwn) {
    RpcWorld w(kBroadcast);
    w.db.users[1].seti_id = 1;
    const Id host = w.add_host();
    assigned_workunit(w, AssignTarget::kNone, 0, true);
    w.add_job();
    EXPECT_THAT(w.send(asking(host, 5)).result_names(), IsEmpty());
}

TEST(Anonymous, JobsForTheClientsOwnVersion) {
    RpcWorld w;
    const Id host = w.add_host();
    const Id id = w.add_job();
    RequestText r = asking(host, 5);
    r.platform = "anonymous";
    r.more =
        "<app_versions><app_version><app_name>up</app_name><version_num>123</version_num><flops>2e9</flops>"
        "<platform>my-linux</platform></app_version></app_versions>";
    const ReplyText reply = w.send(r);
    ASSERT_THAT(reply.result_names(), SizeIs(1)) << reply.text();
    EXPECT_FALSE(reply.has("<app_version>"));
    EXPECT_FALSE(reply.has("<app>"));
    EXPECT_TRUE(reply.has("<version_num>123</version_num>"));
    EXPECT_EQ(w.db.results[id].app_version_id, -2);
    EXPECT_EQ((w.db.host_app_versions.count({host, 1000002})), 1u);
    EXPECT_EQ((w.db.host_app_versions[{host, 1000002}].n_jobs_today), 1);
}

TEST(Anonymous, WrongVersionsAreNamed) {
    RpcWorld w;
    RequestText r = asking(w.add_host(), 5);
    w.add_job();
    r.platform = "anonymous";
    r.more =
        "<app_versions><app_version><app_name>nosuch</app_name><version_num>1</version_num></app_version>"
        "</app_versions>";
    EXPECT_TRUE(w.send(r).has("Unknown app name nosuch in app_info.xml"));
}

TEST(Preferences, AccountPreferencesAreSentIfNewer) {
    RpcWorld w;
    w.db.users[1].global_prefs =
        "<global_preferences>\n<mod_time>500</mod_time>\n<disk_max_used_pct>50"
        "</disk_max_used_pct>\n</global_preferences>\n";
    RequestText r = asking(w.add_host(), 5);
    EXPECT_TRUE(w.send(r).has("<mod_time>500</mod_time>"));
    r.seqno = 1;
    r.more =
        "<working_global_preferences><global_preferences><mod_time>600</mod_time></global_preferences>"
        "</working_global_preferences>";
    EXPECT_FALSE(w.send(r).has("<mod_time>500</mod_time>"));
}

TEST(Preferences, MemoryForIdleAndBusyTimes) {
    RpcWorld w;
    const Id host = w.add_host();
    w.add_job([](Workunit& wu) { wu.rsc_memory_bound = 5e9; });  // of 8e9
    RequestText r = asking(host, 5);
    const auto with = [&](int busy, int idle) {
        r.more = fmt::format(
            "<working_global_preferences><global_preferences><ram_max_used_busy_pct>{}"
            "</ram_max_used_busy_pct><ram_max_used_idle_pct>{}</ram_max_used_idle_pct>"
            "</global_preferences></working_global_preferences>",
            busy, idle);
        ++r.seqno;
        return w.send(r).result_names().size();
    };
    EXPECT_EQ(with(10, 50), 0u);
    EXPECT_EQ(with(10, 70), 1u) << "the larger one counts";
}

}  // namespace
}  // namespace sluice::test
