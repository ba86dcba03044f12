// SPDX-License-Identifier: LGPL-3.0-or-later
// Recorded requests as the traffic: which host they are of, when they come, and what becomes of the jobs they get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

#include "sched/sim/fleet.h"
#include "sched/sim/recording.h"
#include "sluice/base/error.h"
#include "tests/support/captures.h"
#include "tests/support/request_text.h"
#include "tests/support/temp_dir.h"

namespace sluice::sim {
namespace {

using test::RequestText;
using test::TempDir;
using testing::HasSubstr;
using testing::Not;

/// A scheduler's folder, as far as it matters.
class Folder {
  public:
    void keep(const std::string& name, double at, const std::string& text) {
        const auto file = folder.write(name + "_sched_request.xml", text);
        const auto since =
            std::chrono::duration_cast<std::chrono::file_clock::duration>(std::chrono::duration<double>(at));
        std::filesystem::last_write_time(
            file, std::chrono::file_clock::from_sys(std::chrono::sys_time<std::chrono::file_clock::duration>(
                      std::chrono::seconds(1700000000) + since)));
    }
    void keep(double at, const RequestText& request) { keep(std::to_string(1000 + number_++), at, request.text()); }
    std::string path() const { return folder.path().string(); }
    TempDir folder;

  private:
    int number_ = 0;
};

RequestText asks(Id host, int seqno, double seconds) {
    RequestText r;
    r.hostid = host, r.seqno = seqno, r.work_seconds = seconds;
    r.domain_name = "box" + std::to_string(host), r.cpid = "cpid" + std::to_string(host), r.ncpus = 1;
    r.authenticator = "key" + std::to_string(host);
    return r;
}

/// One-hour jobs for whoever asks; nothing fails, and nothing is drawn.
Scenario hours() {
    Scenario s;
    s.fleet.error_rate = 0;
    s.apps.push_back({});
    s.users.push_back({});
    WorkSpec w;
    w.keep = 100, w.size_sigma = 0;
    s.work.push_back(w);
    s.config_xml = "<shmem_work_items>100</shmem_work_items>";
    return s;
}

FleetResult replay(const Folder& folder, const Scenario& scenario, std::uint64_t seed = 1) {
    const Recording recording = read_recording(folder.path());
    SimulationOptions options;
    options.seed = seed, options.replay = &recording;
    return simulate_fleet(for_replay(scenario, recording), options);
}

std::string complaint(const Folder& folder) {
    try {
        read_recording(folder.path());
    } catch (const Error& e) {
        EXPECT_THAT(e.what(), Not(HasSubstr("\n")));
        return e.what();
    }
    return "";
}

TEST(Recording, RequestsByTimeAndHost) {
    Folder folder;
    folder.keep(50, asks(7, 2, 100));
    folder.keep(10, asks(9, 1, 300));
    folder.keep(10.5, asks(7, 1, 200));
    folder.folder.write("1_sched_reply.xml", "<scheduler_reply></scheduler_reply>");
    folder.folder.write("1_sched.log", "2023-11-14 22:13:20");
    const Recording r = read_recording(folder.path());
    ASSERT_EQ(r.requests.size(), 3u);
    EXPECT_EQ(r.hosts, 2u);
    EXPECT_EQ(r.left_out, 0u);
    EXPECT_THAT(r.platforms, testing::ElementsAre(test::kPlatform));
    EXPECT_EQ(r.requests[0].host, 0u);
    EXPECT_EQ(r.requests[1].host, 1u);
    EXPECT_EQ(r.requests[2].host, 1u);
    EXPECT_NEAR(r.requests[1].at, 0.5, 1e-3);
    EXPECT_NEAR(r.span(), 40, 1e-3);
    EXPECT_EQ(r.requests[0].request.cpu_req_secs, 300);
    EXPECT_EQ(r.requests[0].request.authenticator, "") << "keys are nobody's business here";
}

TEST(Recording, HostWithoutIdIsOneThatMachineBecame) {
    Folder folder;
    RequestText first = asks(7, 0, 100);
    first.hostid = 0;
    folder.keep(0, first);
    folder.keep(60, asks(7, 1, 100));
    RequestText other = asks(8, 0, 100);
    other.hostid = 0;
    folder.keep(70, other);
    const Recording r = read_recording(folder.path());
    EXPECT_EQ(r.hosts, 2u);
    EXPECT_EQ(r.requests[0].host, r.requests[1].host);
    EXPECT_NE(r.requests[2].host, r.requests[1].host);
}

TEST(Recording, WhatClientsReallySentIsRead) {
    Folder folder;
    double at = 0;
    for (const char* name : {"30_linux_cpu_3jobs", "27_windows_cpu_work", "21_linux_cpu_and_nvidia_work"})
        folder.keep(name, at += 60, test::capture(std::string(name) + ".request"));
    const Recording r = read_recording(folder.path());
    EXPECT_EQ(r.left_out, 0u);
    ASSERT_EQ(r.requests.size(), 3u);
    EXPECT_EQ(r.requests[0].request.cpu_req_secs, 25);
    EXPECT_THAT(r.platforms, testing::Contains("windows_x86_64"));
}

TEST(Recording, OtherFilesAreLeftOutAndNamed) {
    Folder folder;
    folder.keep(0, asks(7, 1, 100));
    folder.keep("5_5", 5, "GET / HTTP/1.1");
    folder.keep("6_6", 6, "");
    const Recording r = read_recording(folder.path());
    EXPECT_EQ(r.requests.size(), 1u);
    EXPECT_EQ(r.left_out, 2u);
    EXPECT_THAT(r.why, HasSubstr("_sched_request.xml: "));
    EXPECT_THAT(r.why, Not(HasSubstr("\n")));
}

TEST(Recording, FoldersThatAreNoneAreNamed) {
    Folder folder;
    EXPECT_THAT(complaint(folder), HasSubstr("<debug_req_reply_dir>"));
    folder.keep("5_5", 5, "GET / HTTP/1.1");
    EXPECT_THAT(complaint(folder), HasSubstr("5_5_sched_request.xml"));
    try {
        read_recording(folder.path() + "/none");
        FAIL();
    } catch (const Error& e) {
        EXPECT_THAT(e.what(), HasSubstr("/none is no folder"));
    }
}

TEST(Recording, TimesNotThoseOfRequestsAreRefused) {
    Folder folder;
    for (int seqno = 1; seqno <= 10; ++seqno) folder.keep(100 - seqno, asks(7, seqno, 100));
    EXPECT_THAT(complaint(folder), HasSubstr("cp -p"));
}

TEST(Replay, RequestsAndReportsComeAsRecorded) {
    Folder folder;
    // Enough for one job of an hour; after half an hour it is not done, after two it is.
    folder.keep(0, asks(7, 1, 100));
    folder.keep(1800, asks(7, 2, 0));
    folder.keep(7200, asks(7, 3, 0));
    const FleetResult r = replay(folder, hours());
    EXPECT_EQ(r.hosts, 1);
    EXPECT_EQ(r.requests, 3);
    EXPECT_EQ(r.work_requests, 1);
    EXPECT_EQ(r.empty_replies, 0);
    EXPECT_EQ(r.jobs_done, 1);
    EXPECT_NEAR(r.useful_core_hours, 1, 1e-6);
    EXPECT_NEAR(r.simulated_seconds, kReplayLead + 7260, 10) << "the run is as long as the recording";
}

TEST(Replay, ACoreDoesOneJobAfterTheOther) {
    Folder folder;
    folder.keep(0, asks(7, 1, 3600 * 2.5));  // three jobs
    folder.keep(3600 * 2 + 60, asks(7, 2, 0));
    EXPECT_EQ(replay(folder, hours()).jobs_done, 2);
}

TEST(Replay, TheSameSeedGivesTheSameBytes) {
    Folder folder;
    for (int i = 0; i < 40; ++i) folder.keep(600 * i, asks(1 + i % 5, 1 + i / 5, 5000));
    Scenario s = hours();
    s.fleet.error_rate = 0.3;
    EXPECT_EQ(to_json(replay(folder, s, 3)), to_json(replay(folder, s, 3)));
    EXPECT_NE(to_json(replay(folder, s, 3)), to_json(replay(folder, s, 4)));
    s.config_xml += "<max_wus_to_send>1</max_wus_to_send>";
    const FleetResult few = replay(folder, s);
    s.config_xml = "<shmem_work_items>100</shmem_work_items><dont_send_jobs/>";
    const FleetResult none = replay(folder, s);
    EXPECT_GT(few.jobs_done, 0);
    EXPECT_EQ(few.requests, 40);
    EXPECT_EQ(none.jobs_done, 0);
    EXPECT_EQ(none.empty_replies, 40);
}

TEST(Replay, EventsThatNeedAFleetAreRefused) {
    Folder folder;
    folder.keep(0, asks(7, 1, 100));
    const Recording recording = read_recording(folder.path());
    Scenario s = hours();
    s.events.push_back({0, EventSpec::What::kDatabaseAway, 0, 1});
    EXPECT_NO_THROW(for_replay(s, recording));
    s.events.push_back({0, EventSpec::What::kHostsVanish, 0.5, 0});
    EXPECT_THROW(for_replay(s, recording), Error);
}

TEST(Replay, AppsHaveVersionsForPlatformsOfRecording) {
    Folder folder;
    RequestText r = asks(7, 1, 100);
    r.platform = "riscv64-unknown-linux-gnu";
    folder.keep(0, r);
    r.work_seconds = 0, r.seqno = 2;
    folder.keep(7200, r);
    EXPECT_EQ(replay(folder, hours()).jobs_done, 1);
}

}  // namespace
}  // namespace sluice::sim
