// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/client_policy/contact.h"
#include "tests/unit/client_policy/states.h"

namespace sluice::client {
namespace {

using Order = std::vector<std::size_t>;

Order order_of(const State& s) { return jobs_to_run(s, round_robin(s)); }

TEST(Priority, IsRecOverShareBothNormalised) {
    State s = cpu_state(1);
    s.projects = {Project{100, 30, true, {0}}, Project{300, 10, true, {0}}, Project{0, 0, true, {0}}};
    const auto sp = priorities(s);
    EXPECT_DOUBLE_EQ(sp[0], -(30.0 / 40) / (100.0 / 400));
    EXPECT_DOUBLE_EQ(sp[1], -(10.0 / 40) / (300.0 / 400));
    EXPECT_LT(sp[2], sp[0]) << "no share: after all others";
}

TEST(Rec, HalvesInTenDays) {
    EXPECT_NEAR(rec_after(100, 10 * 86400, 0), 50, 1e-9);
    EXPECT_NEAR(rec_after(100, 20 * 86400, 0), 25, 1e-9);
    EXPECT_NEAR(rec_after(0, 10 * 86400, 10 * 7), 3.5, 1e-9) << "seven a day for ten days";
    EXPECT_NEAR(rec_after(7, 86400, 7), 7, 1e-9);
    double steps = 3;
    for (int i = 0; i < 1440; ++i) steps = rec_after(steps, 60, 0.01);
    EXPECT_NEAR(steps, rec_after(3, 86400, 14.4), 1e-9) << "in however many steps";
    EXPECT_EQ(rec_after(5, 0, 0), 5);
}

TEST(JobOrder, ArrivalWithinAProjectAndPrioritiesAmongProjects) {
    State s = cpu_state(2);
    s.projects = {Project{100, 50, true, {0}}, Project{100, 10, true, {0}}};
    s.jobs = {a_job(100, kWeek, 0), a_job(100, kWeek, 0), a_job(100, kWeek, 1), a_job(100, kWeek, 1)};
    EXPECT_EQ(order_of(s), (Order{2, 3})) << "an hour of one CPU does not make up for so much REC";
}

TEST(JobOrder, EachChoiceChargesAnHour) {
    State s = cpu_state(4);
    s.projects = {Project{100, 10, true, {0}}, Project{100, 10, true, {0}}};
    for (const std::size_t p : {0u, 0u, 0u, 1u, 1u, 1u}) s.jobs.push_back(a_job(100, kWeek, p));
    EXPECT_EQ(order_of(s), (Order{0, 3, 1, 4}));
}

TEST(JobOrder, DangerFirstThenGpusThenCpus) {
    for (const Rules rules : {Rules::kClient, Rules::kSeed}) {
        State s = gpu_state(3, 2, rules);
        s.jobs = {a_job(100), a_gpu_job(100), a_job(100, 90), a_gpu_job(100), a_job(100, 50)};
        s.jobs[3].deadline = s.now + 60;
        EXPECT_EQ(order_of(s), (Order{3, 4, 2, 1, 0}));
    }
}

TEST(JobOrder, WhatGpusRunIsChargedBeforeCpuChooses) {
    for (const Rules rules : {Rules::kClient, Rules::kSeed}) {
        State s = gpu_state(1, 1, rules);
        s.projects = {Project{100, 10, true, {}}, Project{100, 10, true, {}}};
        s.jobs = {a_job(100, kWeek, 0), a_job(100, kWeek, 1), a_gpu_job(100)};
        EXPECT_EQ(order_of(s), (Order{2, 1}));
    }
}

TEST(JobOrder, ClientRunsEarliestDeadlinesOfProjectThatMisses) {
    State s = cpu_state(1);
    // As measured: ordinary jobs due at 540, one tight job due at 560 that alone misses.
    s.work_buf_min = 180;
    s.jobs = {a_job(100, 5400), a_job(60, 540), a_job(300, 560)};
    const RoundRobin forecast = round_robin(s);
    EXPECT_EQ(forecast.misses, (std::vector<bool>{false, false, true}));
    EXPECT_EQ(jobs_to_run(s, forecast), Order{1});
    s.rules = Rules::kSeed;
    s.jobs[2].remaining = 500;
    EXPECT_EQ(order_of(s), Order{2}) << "the seed runs the job that misses";
}

TEST(JobOrder, TheClientGoesOnWithWhatHasStarted) {
    State s = cpu_state(1);
    s.jobs = {a_job(100), a_job(100)};
    s.jobs[1].started = true;
    EXPECT_EQ(order_of(s), Order{1});
}

TEST(JobOrder, ThreadedJobsComeBeforeSingleOnes) {
    State s = cpu_state(4);
    s.jobs = {a_job(100), a_job(100), a_job(100)};
    s.jobs[1].instances = 4;
    EXPECT_EQ(order_of(s), Order{1}) << "as the real client: state MultiCpuAfterSingle";
    s.rules = Rules::kSeed;
    EXPECT_EQ(order_of(s), (Order{0, 2})) << "what does not fit is passed over";
}

TEST(JobOrder, AThreadedJobStartsWithOneFreeCpu) {
    State s = cpu_state(2);
    s.jobs = {a_job(100), a_job(100, 0)};
    s.jobs[0].instances = 2;
    EXPECT_EQ(order_of(s), (Order{1, 0})) << "one CPU too many rather than one idle";
    s.rules = Rules::kSeed;
    EXPECT_EQ(order_of(s), Order{1});
}

TEST(TimeSlice, AJobRunsUntilSliceAndCheckpoint) {
    State s = cpu_state(1);
    s.projects = {Project{100, 90, true, {0}}, Project{100, 10, true, {0}}};
    s.jobs = {a_job(9000, kWeek, 0), a_job(9000, kWeek, 1)};
    s.jobs[0].started = s.jobs[0].running = true;
    s.jobs[0].running_since = s.now - 3599;
    EXPECT_EQ(order_of(s), Order{0}) << "in its slice";
    s.jobs[0].running_since = s.now - 3700;
    s.jobs[0].checkpointed = s.now - 200;
    EXPECT_EQ(order_of(s), Order{0}) << "no checkpoint since the slice ended";
    s.jobs[0].checkpointed = s.now - 50;
    EXPECT_EQ(order_of(s), Order{1});
}

TEST(TimeSlice, JobInDangerDoesNotWaitForIt) {
    State s = cpu_state(1);
    s.jobs = {a_job(9000), a_job(60, 500)};
    s.jobs[0].started = s.jobs[0].running = true;
    s.jobs[0].running_since = s.now - 10;
    const auto run = order_of(s);
    EXPECT_EQ(run, Order{1});
    const auto stopped = preemptions(s, run);
    ASSERT_EQ(stopped.size(), 1u);
    EXPECT_EQ(stopped[0].job, 0u);
}

TEST(Preemption, RemovedFromMemoryItResumesAtItsCheckpoint) {
    State s = gpu_state(1, 1);
    s.jobs = {a_job(9000), a_gpu_job(9000)};
    for (Job& j : s.jobs) j.started = j.running = true, j.running_since = s.now - 500, j.checkpointed = s.now - 40;
    auto stopped = preemptions(s, {});
    EXPECT_FALSE(stopped[0].in_memory);
    EXPECT_EQ(stopped[0].lost, 40);
    s.leave_in_memory = true;
    stopped = preemptions(s, {});
    EXPECT_TRUE(stopped[0].in_memory);
    EXPECT_EQ(stopped[0].lost, 0);
    EXPECT_FALSE(stopped[1].in_memory) << "GPU jobs never stay";
    s.leave_in_memory = false;
    s.jobs[0].checkpointed = 0;
    EXPECT_TRUE(preemptions(s, {})[0].in_memory) << "it never wrote a checkpoint";
    s.jobs[0].checkpointed = s.now - 5000;
    EXPECT_EQ(preemptions(s, {})[0].lost, 500) << "what it has done since it was resumed";
}

TEST(Memory, JobsThatLeaveTooLittleArePassedOver) {
    State s = cpu_state(3);
    s.jobs = {a_job(100), a_job(100), a_job(100)};
    s.jobs[0].memory = 3e9, s.jobs[1].memory = 2e9, s.jobs[2].memory = 1e9;
    EXPECT_EQ(order_of(s), (Order{0, 1, 2})) << "no limit";
    s.memory = 4e9;
    EXPECT_EQ(order_of(s), (Order{0, 2}));
}

TEST(LateJobs, OnlyUnstartedOnesAreAborted) {
    Job late = a_job(100, 0);
    EXPECT_TRUE(is_abandoned(late, 1e6));
    EXPECT_FALSE(is_abandoned(late, 1e6 - 1));
    late.started = true;
    EXPECT_FALSE(is_abandoned(late, 1e6 + 1000));
}

TEST(Report, AtOnceWhenTheDeadlineIsNear) {
    EXPECT_EQ(report_by(1000, 1000 + 86399, 180), 1000) << "less than a day";
    EXPECT_EQ(report_by(1000, 1000 + 7 * 86400, 180), 1000 + 3600);
    EXPECT_EQ(report_by(1000, 1000 + 86400 + 600, 180), 1600) << "when a day is left";
    EXPECT_EQ(report_by(1000, 1000 + 2 * 86400, 3 * 86400), 1000) << "a minimum buffer of more than a day";
}

TEST(Report, ComesWithManyOrWhenOneIsDue) {
    const UnreportedJob week{1000, 1000 + 7 * 86400};
    EXPECT_FALSE(must_report({week}, 1000, 180));
    EXPECT_TRUE(must_report({week}, 1000 + 3600, 180));
    EXPECT_TRUE(must_report({week, {1000, 1000 + 7 * 86400, true}}, 1000, 180));
    EXPECT_FALSE(must_report(std::vector<UnreportedJob>(63, week), 1000, 180));
    EXPECT_TRUE(must_report(std::vector<UnreportedJob>(64, week), 1000, 180));
    EXPECT_FALSE(must_report({}, 1e9, 180));
}

}  // namespace
}  // namespace sluice::client
