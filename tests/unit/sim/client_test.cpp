// SPDX-License-Identifier: LGPL-3.0-or-later
// What a simulated client asks, as its server sees it.
#include "sched/sim/client.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice::sim {
namespace {

/// Has no work; loses replies if it is told to.
struct EmptyProject final : ClientWorld {
    std::optional<SchedulerReply> rpc(double, const SchedulerRequest& request) override {
        asked.push_back(request);
        if (loses) return std::nullopt;
        SchedulerReply reply;
        reply.send_hostid = request.hostid == 0;
        reply.host.id = 7;
        return reply;
    }
    double real_flops(Id) override { return 1; }
    void lost_work(double) override {}

    std::vector<SchedulerRequest> asked;
    bool loses = false;
};

void wake_until_asked(Client& client, EmptyProject& world, double& now, std::size_t times) {
    for (int turn = 0; turn < 10'000 && world.asked.size() < times; ++turn) now = client.wake(now, world);
    ASSERT_EQ(world.asked.size(), times);
}

// A real client (captures/01_client_attach_first_contact) asks for 1 s and no instances, with its host_cpid.
TEST(SimulatedClient, AsksBrieflyUntilItHasAnId) {
    HostSpec spec;
    spec.cores = 4;
    spec.speed = 1;
    spec.lifetime = 1e9;
    spec.buffer_min = spec.buffer_more = 86400;
    Client client(spec, 1, kStart, "key");
    EmptyProject world;
    world.loses = true;
    double now = kStart;
    wake_until_asked(client, world, now, 2);
    for (const SchedulerRequest& first : world.asked) {
        EXPECT_EQ(first.hostid, 0);
        EXPECT_EQ(first.rpc_seqno, 0);
        EXPECT_EQ(first.work_req_seconds, 1);
        EXPECT_EQ(first.cpu_req_secs, 1);
        EXPECT_EQ(first.cpu_req_instances, 0);
        EXPECT_FALSE(first.host.host_cpid.empty());
    }
    EXPECT_EQ(world.asked[0].host.host_cpid, world.asked[1].host.host_cpid);
    world.loses = false;
    wake_until_asked(client, world, now, 4);
    EXPECT_EQ(world.asked[3].hostid, 7);
    EXPECT_GT(world.asked[3].cpu_req_secs, 4 * 86400) << "from now on, what its buffers lack";
    EXPECT_EQ(world.asked[3].cpu_req_instances, 4);
}

/// Has no work, and wants to hear of the host every eight minutes.
struct ProjectThatWaits final : ClientWorld {
    std::optional<SchedulerReply> rpc(double, const SchedulerRequest& request) override {
        asked.push_back(request);
        SchedulerReply reply;
        reply.send_hostid = request.hostid == 0;
        reply.host.id = 7;
        reply.next_rpc_delay = 480;
        return reply;
    }
    double real_flops(Id) override { return 1; }
    void lost_work(double) override {}

    std::vector<SchedulerRequest> asked;
};

TEST(SimulatedClient, ComesWhenTheServerWantsIt) {
    HostSpec spec;
    spec.lifetime = 1e9;
    spec.habit = Habit::kNeverOff;
    Client client(spec, 1, kStart, "key");
    ProjectThatWaits world;
    double now = kStart;
    std::vector<double> times;
    for (int turn = 0; turn < 10'000 && times.size() < 5; ++turn) {
        now = client.wake(now, world);
        if (world.asked.size() > times.size()) times.push_back(world.asked.back().client_now);
    }
    ASSERT_EQ(times.size(), 5u);
    for (std::size_t i = 1; i < times.size(); ++i) EXPECT_LE(times[i] - times[i - 1], 481) << i;
    EXPECT_NEAR(times[4] - times[3], 480, 1) << "whatever it is told of work";
}

/// Has two jobs, and cancels them when they are listed: the first if it has not begun, the second at once.
struct ProjectThatCancels final : ClientWorld {
    std::optional<SchedulerReply> rpc(double, const SchedulerRequest& request) override {
        asked.push_back(request);
        SchedulerReply reply;
        reply.send_hostid = request.hostid == 0;
        reply.host.id = 7;
        for (const ReportedResult& r : request.results) reply.result_acks.push_back(r.name);
        if (asked.size() == 1)
            for (const char* name : {"runs", "waits", "waits_too"}) {
                ReplyJob& job = reply.jobs.emplace_back();
                job.result_name = name;
                job.report_deadline = static_cast<std::int64_t>(kStart + 7 * 86400);
                job.rsc_fpops_est = 1e15, job.version.usage.projected_flops = 1e9;
            }
        if (asked.size() == 2) {
            reply.result_aborts_if_not_started = {"runs", "waits"};
            reply.result_aborts = {"waits_too"};
        }
        return reply;
    }
    double real_flops(Id) override { return 1e15; }
    void lost_work(double) override {}

    std::vector<SchedulerRequest> asked;
};

// As captures/09_client_report_aborted.
TEST(SimulatedClient, ReportsWhatTheServerCancels) {
    HostSpec spec;
    spec.cores = 1;
    spec.speed = 1;
    spec.lifetime = 1e9;
    spec.buffer_min = spec.buffer_more = 5e6;
    Client client(spec, 1, kStart, "key");
    ProjectThatCancels world;
    double now = kStart;
    for (int turn = 0; turn < 10'000 && world.asked.size() < 4; ++turn) now = client.wake(now, world);
    ASSERT_EQ(world.asked.size(), 4u);
    ASSERT_EQ(world.asked[2].results.size(), 2u);
    for (const ReportedResult& r : world.asked[2].results) {
        EXPECT_TRUE(r.name.starts_with("waits")) << r.name;
        EXPECT_EQ(r.exit_status, 202);
        EXPECT_EQ(r.client_state, 6);
        EXPECT_EQ(r.elapsed_time, 0);
    }
    ASSERT_EQ(world.asked[2].other_results.size(), 1u);
    EXPECT_EQ(world.asked[2].other_results[0].name, "runs");
    EXPECT_TRUE(world.asked[3].results.empty()) << "once is enough";
}

}  // namespace
}  // namespace sluice::sim
