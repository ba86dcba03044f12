// SPDX-License-Identifier: LGPL-3.0-or-later
// Who is refused before the database is asked, and who is answered without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/rpc_world.h"

namespace sluice::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Refusal {
    const char* what;
    std::string config;
    std::string message;
};

class Banned : public ::testing::TestWithParam<Refusal> {};
TEST_P(Banned, GetsNoWorkButMayReport) {
    RpcWorld w(GetParam().config);
    const Id host = w.add_host();
    w.add_job();
    RequestText r;
    r.hostid = host;
    r.work_seconds = 100;
    ReplyText reply = w.send(r);
    EXPECT_TRUE(reply.has(GetParam().message)) << reply.text();
    EXPECT_EQ(reply.value("request_delay"), "86400.000000");
    EXPECT_EQ(w.db.verbs, 0u) << "no database access";
    const Result done = w.add_in_progress(host);
    r.reported = {done.name};
    reply = w.send(r);
    EXPECT_EQ(reply.count("<result_ack>"), 1);
    EXPECT_TRUE(reply.has(GetParam().message));
    EXPECT_THAT(reply.result_names(), IsEmpty());
    EXPECT_EQ(w.db.results[done.id].outcome, Outcome::kSuccess);
}
INSTANTIATE_TEST_SUITE_P(
    Reasons, Banned,
    ::testing::Values(Refusal{"version", "<min_core_client_version>80100</min_core_client_version>",
                              "<message priority=\"notice\">_(\"Your BOINC client software is too old.  Please install "
                              "the current version.\")</message>"},
                      Refusal{"os", "<ban_os>Linux Deb.*\t12</ban_os>",
                              "_(\"This project doesn't support operating system\") Linux Debian 12</message>"},
                      Refusal{"cpu", "<ban_cpu>Intel\tXe+on</ban_cpu>",
                              "_(\"This project doesn't support CPU type\") GenuineIntel Xeon</message>"}),
    [](const auto& tested) { return tested.param.what; });

TEST(Screening, TrickleMessagesOfBannedClientsAreStored) {
    RpcWorld w("<min_core_client_version>80100</min_core_client_version>");
    RequestText r;
    r.hostid = w.add_host();
    r.more = "<msg_from_host>\n<variety>v</variety>\n<x/>\n</msg_from_host>\n";
    EXPECT_TRUE(w.send(r).has("<message_ack/>"));
    EXPECT_EQ(w.db.from_host.size(), 1u);
}

TEST(Screening, NoWorkSkipOpensNoDatabase) {
    RpcWorld w("<nowork_skip>1</nowork_skip>");
    RequestText r;
    r.hostid = w.add_host();
    r.work_seconds = 100;
    const ReplyText reply = w.send(r);
    EXPECT_THAT(reply.messages(), Contains("No work available"));
    EXPECT_FALSE(reply.has("<userid>"));
    EXPECT_EQ(w.db.verbs, 0u);
    r.hostid = 0;
    w.send(r);
    EXPECT_GT(w.db.verbs, 0u) << "a new host must be registered";
}

TEST(Screening, NoWorkSkipDoesNotSwallowReports) {
    RpcWorld w("<nowork_skip>1</nowork_skip>");
    RequestText r;
    r.hostid = w.add_host();
    r.work_seconds = 100;
    r.reported = {w.add_in_progress(r.hostid).name};
    EXPECT_TRUE(w.send(r).has("<result_ack>"));
}

// Upstream takes a request with idle processors and no seconds for none.
TEST(Screening, IdleProcessorsAloneAreRequestAtLevelOne) {
    for (const int level : {0, 1}) {
        RpcWorld w("", level);
        w.add_job();
        RequestText r;
        r.hostid = w.add_host();
        r.more = "<cpu_req_instances>1</cpu_req_instances>\n";
        EXPECT_EQ(w.send(r).result_names().size(), level == 0 ? 0u : 1u);
    }
}

TEST(Screening, DontSendJobs) {
    RpcWorld w("<dont_send_jobs>1</dont_send_jobs>");
    w.add_job();
    RequestText r;
    r.hostid = w.add_host();
    r.work_seconds = 100;
    EXPECT_THAT(w.send(r).result_names(), IsEmpty());
    EXPECT_EQ(w.db.verbs, 0u);
}

TEST(Screening, AnUpgradeIsAnnounced) {
    const std::int64_t now = 1'700'000'000;
    for (const int days : {10, 2}) {
        RpcWorld w(
            fmt::format("<min_core_client_version_announced>80500</min_core_client_version_announced>"
                        "<min_core_client_upgrade_deadline>{}</min_core_client_upgrade_deadline>",
                        now + days * 86400));
        RequestText r;
        r.hostid = w.add_host();
        EXPECT_TRUE(
            w.send(r).has(fmt::format("<message priority=\"{}\">In {} days and 0 hours, this project will "
                                      "require a minimum BOINC version of 8.5.0.",
                                      days < 3 ? "notice" : "low", days)));
    }
}

TEST(Screening, FilesThatMatchPatternsAreToBeDeleted) {
    RpcWorld w;
    w.files().write("file_delete_regex", "^old_.*\\.dat$\n[bad\n");
    w.reload_files();
    RequestText r;
    r.hostid = w.add_host();
    r.more = "<file_info><name>old_1.dat</name><sticky/></file_info><file_info><name>new_1.dat</name></file_info>";
    const ReplyText reply = w.send(r);
    EXPECT_TRUE(reply.has("<delete_file_info>old_1.dat</delete_file_info>"));
    EXPECT_FALSE(reply.has("<delete_file_info>new_1.dat"));
}

TEST(Screening, AnUnknownPlatformsReportsCount) {
    RpcWorld w;
    w.add_job();
    RequestText r;
    r.hostid = w.add_host();
    r.platform = "riscv64-unknown-linux-gnu";
    r.work_seconds = 100;
    const Result done = w.add_in_progress(r.hostid);
    r.reported = {done.name};
    const ReplyText reply = w.send(r);
    EXPECT_TRUE(reply.has("_(\"This project doesn't support computers of type\") riscv64-unknown-linux-gnu"));
    EXPECT_EQ(reply.value("request_delay"), "86400.000000");
    EXPECT_EQ(w.db.results[done.id].outcome, Outcome::kSuccess);
    EXPECT_THAT(reply.result_names(), IsEmpty());
    EXPECT_EQ(w.db.hosts[r.hostid].domain_name, "box");
}

TEST(Screening, MalformedRequestsGetOneMessageAndTouchNothing) {
    for (const std::string& body : {std::string(), std::string("<scheduler_request>"), std::string(1000, '\0'),
                                    std::string("garbage"), std::string("GET / HTTP/1.0")}) {
        RpcWorld w;
        const ReplyText reply = w.send(body);
        EXPECT_EQ(reply.malformed(), "");
        ASSERT_EQ(reply.messages().size(), 1u);
        EXPECT_THAT(reply.messages()[0], HasSubstr("Error in request message"));
        EXPECT_EQ(w.db.verbs, 0u);
    }
}

// In whatever way the request ends (upstream says it while it parses).
TEST(Screening, UnknownAppsAreNamedEvenEarly) {
    const char* const kUnknown = "Unknown app name nosuch in app_info.xml";
    RequestText r;
    r.platform = "anonymous";
    r.more =
        "<app_versions><app_version><app_name>nosuch</app_name><version_num>1</version_num></app_version>"
        "</app_versions>";
    RpcWorld banned("<min_core_client_version>80100</min_core_client_version>");
    r.hostid = banned.add_host();
    EXPECT_THAT(banned.send(r).messages(), Contains(kUnknown));
    EXPECT_EQ(banned.db.verbs, 0u);
    RpcWorld stranger;
    r.hostid = 0;
    r.authenticator = "nobody";
    EXPECT_THAT(stranger.send(r).messages(), Contains(kUnknown));
    RpcWorld known;
    r.authenticator = kKey;
    const auto said = known.send(r).messages();
    EXPECT_EQ(std::count(said.begin(), said.end(), kUnknown), 1);
}

TEST(Screening, NoWorkIsSaidOnce) {
    RpcWorld w("<nowork_skip>1</nowork_skip><msg_to_host>1</msg_to_host>");
    const auto said = w.send(asking(w.add_host(), 100)).messages();
    EXPECT_THAT(said, testing::ElementsAre("Project has no tasks available"));
}

}  // namespace
}  // namespace sluice::test
