// SPDX-License-Identifier: LGPL-3.0-or-later
// Jobs of planned batches: what deadline their client is told, what the database waits for, and who gets none.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sluice/model/batch_plan.h"
#include "tests/support/rpc_world.h"

namespace sluice::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

/// Jobs of batch 7 take an hour on this host, which is always on; the batch is to be done in `left` s.
class PlannedBatches : public testing::Test {
  protected:
    PlannedBatches() : w("<plan_batches>1</plan_batches><workload_sim>0</workload_sim>"), host(w.add_host()) {
        w.db.hosts[host].on_frac = w.db.hosts[host].active_frac = 1;
        plan(3 * 3600);
    }
    void plan(double left, std::int64_t jobs = 5, std::int64_t hosts = 9) {
        w.tables.plan = {1, w.clock.now(), {{7, w.clock.now() + left, 1.2, 1, jobs, hosts}}, {}};
    }
    Id job(Id batch = 7) {
        const Id id = w.add_job([&](Workunit& wu) {
            wu.rsc_fpops_est = 3.6e12;
            wu.batch = batch;
        });
        w.db.results[id].batch = batch;
        w.pool.slots.back().job.batch = static_cast<std::int32_t>(batch);
        return id;
    }
    RequestText request(double buffer_days = 0, double clock_off = 0) {
        RequestText r = asking(host, 10);
        r.more = fmt::format(
            "<working_global_preferences><global_preferences><work_buf_min_days>{}</work_buf_min_days>"
            "</global_preferences></working_global_preferences><time_stats><on_frac>1</on_frac><active_frac>1</active_frac>"
            "<now>{}</now></time_stats>",
            buffer_days, w.clock.now() + clock_off);
        return r;
    }
    std::int64_t told(const ReplyText& reply) { return std::stoll(reply.value("report_deadline")) - w.clock.now_sec(); }
    std::int64_t stored(Id result) { return w.db.results[result].report_deadline - w.clock.now_sec(); }
    RpcWorld w;
    Id host;
};

constexpr int kTight = 4320;  ///< 1.2 times the run time

TEST_F(PlannedBatches, TheDeadlineIsRunTimeAndBuffer) {
    job();
    EXPECT_NEAR(static_cast<double>(told(w.send(request()))), kTight + 180, 2);
    job();
    EXPECT_NEAR(static_cast<double>(told(w.send(request(0.1)))), kTight + 8640, 2);
}

TEST_F(PlannedBatches, TheFactorIsAnOption) {
    w.config.plan_deadline_factor = 2;
    job();
    EXPECT_NEAR(static_cast<double>(told(w.send(request()))), 2 * 3600 + 180, 2);
}

TEST_F(PlannedBatches, TheHostsOwnClockJudgesIt) {
    const Id id = job();
    EXPECT_NEAR(static_cast<double>(told(w.send(request(0.1, 5000)))), kTight + 8640 + 5000, 2);
    EXPECT_LE(stored(id), 2 * 3 * 3600 + 1) << "in the database it is the server's";
    const Id slow = job();
    EXPECT_NEAR(static_cast<double>(told(w.send(request(0.1, -86400 * 400)))), kTight + 8640 - 86400 * 400, 2);
    EXPECT_GT(stored(slow), 0);
}

TEST_F(PlannedBatches, TheServerWaitsForThePlan) {
    const Id id = job();
    w.send(request());
    EXPECT_NEAR(static_cast<double>(stored(id)), 2 * 3 * 3600, 2) << "twice the time until T";
    EXPECT_EQ(w.db.workunits[w.db.results[id].workunitid].transition_time, w.db.results[id].report_deadline);
    plan(4400);
    const Id close = job();
    w.send(request());
    EXPECT_NEAR(static_cast<double>(stored(close)), 3 * 1.2 * 3600 + 600, 2) << "a fair chance";
    const Id buffered = job();
    w.send(request(1));
    EXPECT_NEAR(static_cast<double>(stored(buffered)), kTight + 86400, 2) << "what comes back by its deadline counts";
}

TEST_F(PlannedBatches, WhatIsDueLaterIsReportedTogether) {
    job();
    EXPECT_FALSE(w.send(request(0.1)).has("<report_immediately/>"));
    job();
    EXPECT_TRUE(w.send(request(2)).has("<report_immediately/>"));
}

TEST_F(PlannedBatches, ItIsBeforeAllOtherJobsThere) {
    Result& other = w.add_in_progress(host);
    other.report_deadline = w.clock.now_sec() + 6000;
    job();
    RequestText r = request(0.1);
    r.others = {other.name};
    EXPECT_EQ(told(w.send(r)), 5999);
    // One that is due too soon: the client would run that first, and might not start this one in time.
    w.db.results.erase(w.db.results.last().first);
    w.pool.slots.clear();
    job();
    other.report_deadline = w.clock.now_sec() + kTight + 100;
    EXPECT_THAT(w.send(r).result_names(), IsEmpty());
    other.report_deadline = w.clock.now_sec() - 100;
    EXPECT_THAT(w.send(r).result_names(), SizeIs(1)) << "what is late already can't be kept from being so";
}

TEST_F(PlannedBatches, NoMoreThanProcessorsWhateverIsAskedFor) {
    for (int i = 0; i < 7; ++i) job();
    RequestText r = request();
    r.work_seconds = 1e6;
    EXPECT_THAT(w.send(r).result_names(), SizeIs(4));
    RequestText again = request();
    again.work_seconds = 1e6;
    for (const auto& [id, result] : w.db.results)
        if (result.server_state == ServerState::kInProgress) again.others.push_back(result.name);
    EXPECT_THAT(w.send(again).result_names(), IsEmpty()) << "those on the host count";
    again.others.resize(3);
    EXPECT_THAT(w.send(again).result_names(), SizeIs(1));
}

/// The batch's app has a version for NVIDIA GPUs, of which the host has two, each as fast as its processors.
class PlannedGpuBatches : public PlannedBatches {
  protected:
    void version(const std::string& tags) {
        w.db.versions[1].plan_class = "cuda_x";
        w.files().write(
            "plan_class_spec.xml",
            "<plan_classes><plan_class><name>cuda_x</name><gpu_type>nvidia</gpu_type><avg_ncpus>.1</avg_ncpus>" + tags +
                "</plan_class></plan_classes>");
        w.reload_files();
        w.reload_tables();
        plan(3 * 3600);
    }
    RequestText asks_for_gpus() {
        RequestText r = request();
        r.more +=
            "<cpu_req_secs>0</cpu_req_secs><coprocs><coproc_cuda><type>NVIDIA</type><count>2</count><name>GTX</name>"
            "<req_secs>1e6</req_secs><req_instances>2</req_instances><estimated_delay>0</estimated_delay>"
            "<peak_flops>1e12</peak_flops><drvVersion>52000</drvVersion><cudaVersion>12000</cudaVersion>"
            "<totalGlobalMem>8e9</totalGlobalMem><major>8</major><minor>6</minor></coproc_cuda></coprocs>";
        return r;
    }
};

TEST_F(PlannedGpuBatches, NoMoreThanItsGpusCanRun) {
    for (const auto& [tags, jobs] : {std::pair{"", 2}, {"<ngpus>.5</ngpus>", 4}, {"<ngpus>2</ngpus>", 1}}) {
        version(tags);
        for (int i = 0; i < 7; ++i) job();
        EXPECT_THAT(w.send(asks_for_gpus()).result_names(), SizeIs(jobs)) << tags;
        w.db.results.clear(), w.pool.slots.clear();
    }
}

TEST_F(PlannedGpuBatches, CpuJobsDueSoonBlockNoGpu) {
    version("");
    Result& other = w.add_in_progress(host);
    other.report_deadline = w.clock.now_sec() + 60;
    job();
    const auto sent_beside = [&](const char* plan_class) {
        RequestText r = asks_for_gpus();
        r.list_others = false;
        r.more += fmt::format(
            "<other_results><other_result><name>{}</name><plan_class>{}</plan_class></other_result></other_results>",
            other.name, plan_class);
        return w.send(r).result_names().size();
    };
    EXPECT_EQ(sent_beside("cuda_x"), 0U) << "that one is on a GPU, and would be done first";
    EXPECT_EQ(sent_beside(""), 1U);
}

TEST_F(PlannedBatches, AtMostTheProcessorsForSmallPlans) {
    for (const auto& [jobs, hosts] : {std::pair{1000, 7}, {16, 8}}) {
        for (int i = 0; i < 20; ++i) job();
        plan(3 * 4320 + 100, jobs, hosts);
        RequestText r = request();
        r.work_seconds = 1e6;
        EXPECT_THAT(w.send(r).result_names(), SizeIs(4)) << hosts;
        w.db.results.clear(), w.pool.slots.clear();
    }
}

// Hosts with days of other work don't come again soon: who asks for much gets what the plan counts on.
TEST_F(PlannedBatches, HostGetsWhatItCanDoByT) {
    for (int i = 0; i < 20; ++i) job();
    plan(3 * 4320 + 100, 100, 40);
    RequestText r = request();
    r.work_seconds = 1e6;
    const ReplyText reply = w.send(r);
    EXPECT_THAT(reply.result_names(), SizeIs(12)) << "three rounds of 1.2 hours on four processors";
    std::map<std::int64_t, int> deadlines;
    for (const auto& [id, result] : w.db.results)
        if (result.server_state == ServerState::kInProgress) ++deadlines[stored(id)];
    EXPECT_LE(deadlines.rbegin()->first, 2 * (3 * 4320 + 100) + 180) << "the plan's";
    std::vector<double> told_all;
    for (std::size_t at = 0; (at = reply.text().find("<report_deadline>", at)) != std::string::npos; ++at)
        told_all.push_back(std::stod(reply.text().substr(at + 17)) - w.clock.now());
    std::sort(told_all.begin(), told_all.end());
    ASSERT_EQ(told_all.size(), 12u);
    for (std::size_t i = 0; i < told_all.size(); ++i)
        EXPECT_NEAR(told_all[i], 180 + 4320.0 * static_cast<double>(1 + i / 4), 2) << "one round after the other";
    RequestText again = request();
    again.work_seconds = 1e6;
    for (const auto& [id, result] : w.db.results)
        if (result.server_state == ServerState::kInProgress) again.others.push_back(result.name);
    EXPECT_THAT(w.send(again).result_names(), IsEmpty()) << "those on the host count, whatever delay it tells";
}

// Twice counted, the queue of a host that is told late would cost it work that it could be done with.
TEST_F(PlannedBatches, TheMarginIsOfRunTimesOnly) {
    for (int i = 0; i < 5; ++i) job();
    RequestText r = request();
    r.work_seconds = 1e6;
    ASSERT_THAT(w.send(r).result_names(), SizeIs(4)) << "a job for each processor";
    for (const auto& [id, result] : w.db.results)
        if (result.server_state == ServerState::kInProgress) r.others.push_back(result.name);
    r.more += "<estimated_delay>7000</estimated_delay>";
    plan(7000 + 4320 - 10, 100, 40);
    EXPECT_THAT(w.send(r).result_names(), IsEmpty());
    plan(7000 + 4320 + 10, 100, 40);
    EXPECT_THAT(w.send(r).result_names(), SizeIs(1));
}

TEST_F(PlannedBatches, LostOneIsResentWithNewDeadline) {
    w.config.resend_lost_results = true;
    plan(4 * 3600);
    const Id id = job();
    w.send(request(0.1, 5000));
    w.clock.advance(1000);
    plan(2 * 3600);
    const ReplyText again = w.send(request(0.1, 5000));
    EXPECT_THAT(again.result_names(), testing::ElementsAre(w.db.results[id].name));
    EXPECT_NEAR(static_cast<double>(told(again)), kTight + 8640 + 5000, 2) << "by the host's own clock";
    EXPECT_GE(stored(id), kTight + 8640);
    w.clock.advance(1000);
    plan(1800);
    EXPECT_THAT(w.send(request(0.1, 5000)).result_names(), IsEmpty());
    EXPECT_LT(stored(id), 0) << "over, for another";
}

// The client says nothing before the delay is over; other hosts wait as they did.
TEST_F(PlannedBatches, TheirHostsMayReportEachAsItEnds) {
    w.config.min_sendwork_interval = 60;
    const auto delay = [](const ReplyText& reply) { return std::stod(reply.value("request_delay")); };
    const Id ordinary = job(0);
    EXPECT_NEAR(delay(w.send(request())), 61, 1);
    w.clock.advance(100);
    const Id first = job(), second = job();
    RequestText r = request();
    r.work_seconds = 7200;
    r.others = {w.db.results[ordinary].name};
    const ReplyText sent = w.send(r);
    EXPECT_THAT(sent.result_names(), SizeIs(2));
    EXPECT_LE(delay(sent), 7);
    // It reports one while the other runs, and asks for nothing.
    w.clock.advance(10);
    RequestText report = request();
    report.work_seconds = 0;
    report.others = {w.db.results[ordinary].name, w.db.results[second].name};
    report.reported = {w.db.results[first].name};
    EXPECT_LE(delay(w.send(report)), 7);
}

TEST_F(PlannedBatches, HostWithTooMuchTightWorkGetsNone) {
    job();
    RequestText r = request();
    r.more += "<estimated_delay>7000</estimated_delay>";
    EXPECT_THAT(w.send(r).result_names(), IsEmpty()) << "an hour, a margin of a fifth, and 7000 s: later than T";
    plan(4 * 3600);
    EXPECT_THAT(w.send(r).result_names(), SizeIs(1));
}

TEST_F(PlannedBatches, OrdinaryWorkGoesOnAsEver) {
    plan(60);
    const Id planned = job(), ordinary = job(0);
    const ReplyText reply = w.send(request());
    ASSERT_THAT(reply.result_names(), SizeIs(1));
    EXPECT_EQ(reply.result_names()[0], w.db.results[ordinary].name);
    EXPECT_EQ(told(reply), 7 * 86400);
    EXPECT_EQ(w.db.results[planned].server_state, ServerState::kUnsent);
}

TEST_F(PlannedBatches, AHostThatAsksForNothingGetsNothing) {
    job();
    RequestText r = request();
    r.work_seconds = 0;
    EXPECT_THAT(w.send(r).result_names(), IsEmpty());
}

}  // namespace
}  // namespace sluice::test
