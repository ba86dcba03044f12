// SPDX-License-Identifier: LGPL-3.0-or-later
// <decision_log>: what the cgi writes, and that it never stands in an RPC's way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include <fstream>

#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "sluice/shmem/scheduler_array.h"
#include "tests/db/explain/planted_world.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

std::filesystem::path folder_of(const Planted& p) { return p.world().folder() / "decisions"; }

std::vector<nlohmann::json> records(const Planted& p) {
    std::vector<nlohmann::json> all;
    if (!std::filesystem::exists(folder_of(p))) return all;
    for (const auto& file : std::filesystem::directory_iterator(folder_of(p))) {
        EXPECT_THAT(file.path().filename().string(), testing::MatchesRegex("decisions_[0-9]+-[0-9]+-[0-9]+[.]jsonl"));
        std::ifstream in(file.path());
        for (std::string line; std::getline(in, line);) all.push_back(nlohmann::json::parse(line));
    }
    return all;
}

struct DecisionLog : testing::Test {
    DecisionLog() { std::filesystem::remove_all(folder_of(p)); }
    void store(const std::string& mode, const std::string& more = "") {
        p.config += "<decision_log>" + mode + "</decision_log><decision_log_dir>decisions</decision_log_dir>" + more;
        p.store();
        std::filesystem::remove_all(folder_of(p));
    }
    ReplyText send() {
        ReplyText reply = p.world().send_raw(p.request_text());
        EXPECT_EQ(reply.malformed(), "");
        return reply;
    }
    Planted p;
};

TEST_F(DecisionLog, OffWritesNothing) {
    store("off");
    send();
    EXPECT_FALSE(std::filesystem::exists(folder_of(p)));
}

TEST_F(DecisionLog, AllRecordsWhatWasSentAndWhy) {
    p.another_job().rsc_memory_bound = 1e11;
    store("all");
    send();
    const auto all = records(p);
    ASSERT_EQ(all.size(), 1u);
    const auto& r = all[0];
    EXPECT_EQ(r["host"], 1);
    EXPECT_EQ(r["user"], 1);
    EXPECT_EQ(r["search"], "done");
    ASSERT_EQ(r["sent"].size(), 1u) << r.dump(1);
    EXPECT_EQ(r["sent"][0]["result"], 1);
    EXPECT_EQ(r["sent"][0]["app"], "up");
    EXPECT_EQ(r["sent"][0]["origin"], "array");
    EXPECT_FALSE(r["sent"][0].contains("host_size_class")) << "an app without size classes";
    EXPECT_TRUE(r["binding"].is_null());
    ASSERT_EQ(r["reasons"].size(), 1u);
    EXPECT_EQ(r["reasons"][0]["reason"], "memory");
    EXPECT_EQ(r["reasons"][0]["required"], 1e11);
    EXPECT_EQ(r["reasons"][0]["value"], 8e9);
    EXPECT_EQ(r["asked"]["CPU"]["seconds"], 1000);
    EXPECT_EQ(r["array"]["slots_seen"], 20);
    EXPECT_EQ(r.dump().find(kKey), std::string::npos) << "the account's key is nobody's business";
}

TEST_F(DecisionLog, TheDelayIsThatOfTheReply) {
    p.host().rpc_time -= 100;
    store("all", "<min_sendwork_interval>6</min_sendwork_interval>");
    EXPECT_EQ(send().value("request_delay"), "7.000000");
    ASSERT_EQ(records(p).size(), 1u);
    EXPECT_EQ(records(p)[0]["delay"], 7);
}

TEST_F(DecisionLog, SizeClassesOfJobAndHostAreRecorded) {
    p.app().n_size_classes = 3;
    p.quantiles[1] = {1.5e9, 6e9};
    p.host().rpc_time -= 100;  // <min_sendwork_interval> has passed
    p.workunit().size_class = p.result().size_class = 2;
    HostAppVersion v;
    v.host_id = v.app_version_id = 1;
    v.et = {20, 1 / 3e9, 0, 0};  // 3 GFLOPS: between the borders
    p.rows.host_app_versions[{1, 1}] = v;
    store("all", "<compat_level>1</compat_level>");
    send();
    ASSERT_EQ(records(p).size(), 1u);
    const auto sent = records(p)[0]["sent"];
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0]["size_class"], 2);
    EXPECT_EQ(sent[0]["host_size_class"], 1);
}

TEST_F(DecisionLog, NoWorkRecordsOnlyRequestsThatGotNone) {
    store("nowork");
    send();
    EXPECT_TRUE(records(p).empty());
    p.request.work_seconds = 0;
    p.request.seqno = 1;
    send();
    EXPECT_TRUE(records(p).empty());
    p.request.work_seconds = 1000;
    p.request.seqno = 2;
    p.request.platform = "pdp11";
    send();
    const auto all = records(p);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0]["search"], "unknown_platform");
    EXPECT_THAT(all[0]["messages"].dump(), HasSubstr("pdp11"));
}

TEST_F(DecisionLog, TheBindingReasonIsNamed) {
    p.workunit().rsc_memory_bound = 1e11;
    store("nowork");
    send();
    const auto all = records(p);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0]["binding"], "memory");
}

TEST_F(DecisionLog, WhatIsNoRequestIsRecordedToo) {
    store("all");
    p.world().send_raw("junk");
    p.request.authenticator = "nobody";
    send();
    const auto all = records(p);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0]["search"], "bad_request");
    EXPECT_EQ(all[1]["search"], "unknown_account");
}

TEST_F(DecisionLog, ARequestTooSoonAfterAnotherIsNamed) {
    p.another_job();
    store("all", "<min_sendwork_interval>1000</min_sendwork_interval>");
    send();
    const auto all = records(p);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0]["search"], "too_recent") << all[0].dump(1);  // the host's row says: five seconds ago
    EXPECT_TRUE(all[0]["sent"].empty());
}

TEST_F(DecisionLog, AHostThatIsBeingServedIsNamed) {
    const std::filesystem::path locks = p.world().folder() / "locks";
    store("all", "<sched_lockfile_dir>" + locks.string() + "</sched_lockfile_dir>");
    std::filesystem::create_directories(locks);
    auto held = FileLock::try_lock(locks / "CGI_0000001");
    ASSERT_TRUE(held);
    send();
    held.reset();
    p.request.seqno = 1;
    send();
    const auto all = records(p);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0]["search"], "host_busy") << all[0].dump(1);
    EXPECT_EQ(all[1]["search"], "done");
}

TEST_F(DecisionLog, AnAbsentDatabaseIsNamed) {
    store("all");
    const ReplyText reply = p.world().send_raw(p.request_text(), {{"MYSQL_UNIX_PORT", "/nowhere/mysqld.sock"}});
    EXPECT_EQ(reply.malformed(), "");
    const auto all = records(p);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0]["search"], "database_down") << all[0].dump(1);
}

TEST_F(DecisionLog, ADaysFileStaysWithinItsBound) {
    p.workunit().rsc_memory_bound = 1e11;
    store("all", "<decision_log_max_bytes>2500</decision_log_max_bytes>");
    for (int i = 0; i < 12; ++i) {
        p.request.seqno = i;
        send();
    }
    const auto all = records(p);
    EXPECT_GE(all.size(), 2u);
    EXPECT_LT(all.size(), 12u);
    for (const auto& file : std::filesystem::directory_iterator(folder_of(p)))
        EXPECT_LE(std::filesystem::file_size(file), 2500u);
}

TEST_F(DecisionLog, LinesOfManyProcessesStayWhole) {
    p.workunit().rsc_memory_bound = 1e11;
    store("all");
    std::vector<std::unique_ptr<Subprocess>> running;
    p.request.hostid = 0;
    p.request.list_others = false;
    for (int i = 0; i < 24; ++i) {
        p.request.domain_name = "box" + std::to_string(i);
        p.request.cpid = "cpid" + std::to_string(i);
        running.push_back(p.world().start(p.request));
    }
    for (auto& process : running) {
        const auto result = process->wait(120);
        ASSERT_TRUE(result);
        EXPECT_EQ(ReplyText{*result}.malformed(), "");
    }
    EXPECT_EQ(records(p).size(), 24u);
}

TEST_F(DecisionLog, AFailureToWriteNeverHurtsTheRpc) {
    store("all");
    std::ofstream(folder_of(p)) << "a file where the folder should be";
    EXPECT_EQ(send().result_names().size(), 1u);
    EXPECT_THAT(p.world().log(), HasSubstr("decision is not recorded"));
    std::filesystem::remove(folder_of(p));
}

TEST_F(DecisionLog, APipeInItsPlaceKeepsNobodyWaiting) {
    store("all");
    std::filesystem::create_directories(folder_of(p));
    const std::time_t now = std::time(nullptr);
    char name[64];
    std::strftime(name, sizeof name, "decisions_%Y-%m-%d.jsonl", std::localtime(&now));
    ASSERT_EQ(::mkfifo((folder_of(p) / name).c_str(), 0600), 0);
    EXPECT_EQ(send().result_names().size(), 1u);
}

/// L of seed 002, and M, in the real program and in what explains it.
TEST(LockedSlots, AreNamedWithNumbersInLogAndExplanation) {
    Planted p;
    p.config = "<mm_max_locked>3</mm_max_locked>";
    for (int i = 0; i < 4; ++i) p.another_job();
    p.store();
    const auto other = SchedulerArray::attach(p.world().array_name());
    std::vector<Claim> held;
    for (std::uint32_t i = 0; i < 3; ++i) {
        JobSummary job;
        SlotRef ref;
        ASSERT_EQ(other->read(i, job, ref), SlotState::kPresent);
        auto claim = other->claim(ref);
        ASSERT_TRUE(claim);
        held.push_back(std::move(*claim));
    }
    const auto j = nlohmann::json::parse(explained(p, {"--host", "1"}));
    EXPECT_EQ(j["array"]["locked"], 3);
    EXPECT_EQ(j["array"]["jobs"], 2);
    EXPECT_EQ(j["would_send"], 2) << j.dump(1);
    const std::size_t before = p.world().log().size();
    EXPECT_EQ(p.world().send_raw(p.request_text()).result_names().size(), 2u);
    const std::string log = p.world().log().substr(before);
    EXPECT_THAT(log, HasSubstr("3 of 20 job slots that were looked at are locked"));
    EXPECT_THAT(log, HasSubstr("raise <shmem_work_items>, or <mm_max_locked>"));
}

/// A slot's hot part holds six keywords; the scheduler reads the others from the cold data.
TEST(Keywords, BeyondThoseInTheHotPartCountToo) {
    Planted p;
    p.config = "<keyword_sched/>";
    p.workunit().keywords = "11 12 13 14 15 16 17 3";
    p.files = {"kw_prefs/1", "\n3\n"};
    p.store();
    EXPECT_EQ(nlohmann::json::parse(explained(p, {"--host", "1"}))["binding"], "keyword_refused");
    EXPECT_TRUE(p.world().send_raw(p.request_text()).result_names().empty());
    p.files = {"kw_prefs/1", "\n4\n"};
    p.store();
    EXPECT_EQ(p.world().send_raw(p.request_text()).result_names().size(), 1u);
}

TEST(Limits, MBoundsWhatTheRealProgramLooksAt) {
    Planted p;
    p.config =
        "<mm_max_slots>7</mm_max_slots><decision_log>all</decision_log><decision_log_dir>decisions</decision_log_dir>";
    p.store();
    std::filesystem::remove_all(folder_of(p));
    p.world().send_raw(p.request_text());
    const auto all = records(p);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0]["array"]["slots_seen"], 7);
}

}  // namespace
}  // namespace sluice::test
