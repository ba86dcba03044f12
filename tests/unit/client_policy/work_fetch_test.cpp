// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/client_policy/contact.h"
#include "tests/unit/client_policy/states.h"

namespace sluice::client {
namespace {

std::optional<FetchRequest> fetch(const State& s) { return work_to_fetch(s, round_robin(s)); }

TEST(WorkFetch, StartsBelowMinimumAndAsksForAllMissing) {
    State s = cpu_state(2);
    s.jobs = {a_job(999), a_job(1500)};
    const auto request = fetch(s);
    ASSERT_TRUE(request);
    EXPECT_EQ(request->types[0].seconds, 1001 + 500);
    EXPECT_EQ(request->types[0].instances, 0);
    s.jobs[0].remaining = 1001;
    EXPECT_FALSE(fetch(s)) << "saturated for longer than the minimum";
}

TEST(WorkFetch, IdleInstancesAreToBeFilled) {
    State s = cpu_state(4);
    s.jobs = {a_job(100)};
    EXPECT_EQ(fetch(s)->types[0].instances, 3);
    s.rules = Rules::kSeed;
    EXPECT_EQ(fetch(s)->types[0].instances, 3);
}

TEST(WorkFetch, ProjectWithGreatestPriorityAdjustedByItsQueue) {
    State s = cpu_state(1);
    s.projects = {Project{100, 20, true, {0}}, Project{100, 10, true, {0}}};
    EXPECT_EQ(fetch(s)->project, 1u);
    s.jobs = {a_job(990, kWeek, 1)};  // SP -4/3 and -2/3; the queue is half a buffer
    EXPECT_EQ(fetch(s)->project, 1u);
    s.projects[0].rec = 12;  // -12/11 and -10/11 - 0.495
    EXPECT_EQ(fetch(s)->project, 0u);
    s.projects[0].fetchable = false;
    EXPECT_EQ(fetch(s)->project, 1u);
    s.projects[1].fetchable = false;
    EXPECT_FALSE(fetch(s));
}

TEST(WorkFetch, ABackedOffTypeComesBesideAnother) {
    State s = gpu_state(1, 1);
    s.projects[0].backoff_until = {0, s.now + 100};
    s.jobs = {a_job(5000)};
    EXPECT_FALSE(fetch(s)) << "only the GPU is idle, and it is backed off";
    s.jobs.clear();
    const auto request = fetch(s);
    EXPECT_EQ(request->types[0].seconds, 2000);
    EXPECT_EQ(request->types[1].seconds, 2000);
    s.projects[0].backoff_until = {0, s.now - 1};
    s.jobs = {a_job(5000)};
    EXPECT_EQ(fetch(s)->types[0].seconds, 0);
    EXPECT_EQ(fetch(s)->types[1].seconds, 2000);
}

TEST(WorkFetch, AnotherTypeIsLeftToHigherPriority) {
    State s = gpu_state(1, 1);
    s.projects = {Project{100, 10, true, {s.now + 100, 0}}, Project{100, 90, true, {0, 0}}};
    s.jobs = {a_gpu_job(1500)};  // the GPU is not low, but has room
    const auto request = fetch(s);
    ASSERT_TRUE(request);
    EXPECT_EQ(request->project, 1u);
    EXPECT_EQ(request->types[0].seconds, 2000);
    EXPECT_EQ(request->types[1].seconds, 0) << "the first project could be asked for it";
}

TEST(WorkFetch, ClientAsksForItsShareOfInstances) {
    State s = cpu_state(4);
    s.projects = {Project{100, 0, true, {0}}, Project{100, 1, true, {0}}};
    for (int i = 0; i < 4; ++i) s.jobs.push_back(a_job(500, kWeek, 1));
    EXPECT_EQ(fetch(s)->types[0].instances, 2) << "none is idle; two of four are its part";
    s.rules = Rules::kSeed;
    EXPECT_EQ(fetch(s)->types[0].instances, 0);
}

TEST(WorkFetch, WithoutAShareOnlyIdleInstancesAsk) {
    State s = cpu_state(2);
    s.projects[0].resource_share = 0;
    EXPECT_EQ(fetch(s)->types[0].seconds, 1);
    EXPECT_EQ(fetch(s)->types[0].instances, 2);
    s.jobs = {a_job(500), a_job(500)};
    EXPECT_FALSE(fetch(s));
}

TEST(WorkFetch, ClientFetchesBelowThreeMinutesWhateverMinimum) {
    State s = cpu_state(1);
    s.work_buf_min = 0;
    s.jobs = {a_job(170)};
    EXPECT_EQ(fetch(s)->types[0].seconds, 830);
    s.jobs[0].remaining = 190;
    EXPECT_FALSE(fetch(s));
    s.rules = Rules::kSeed;
    s.jobs[0].remaining = 1;
    EXPECT_FALSE(fetch(s));
}

TEST(WorkFetch, AThousandJobsAreEnoughOfOneProject) {
    State s = cpu_state(1);
    s.jobs.assign(1001, a_job(0.01));
    EXPECT_FALSE(fetch(s));
    s.jobs.pop_back();
    EXPECT_TRUE(fetch(s));
    s.jobs.push_back(a_job(0.01));
    s.rules = Rules::kSeed;
    EXPECT_TRUE(fetch(s));
}

TEST(Piggyback, OfProjectWithGreatestPriorityForType) {
    State s = cpu_state(1);
    s.projects = {Project{100, 10, true, {0}}, Project{100, 90, true, {0}}};
    s.jobs = {a_job(1500)};  // not low, so that nothing is fetched for its own sake
    const RoundRobin forecast = round_robin(s);
    EXPECT_FALSE(work_to_fetch(s, forecast));
    EXPECT_EQ(work_to_piggyback(s, forecast, 0)->types[0].seconds, 500);
    EXPECT_FALSE(work_to_piggyback(s, forecast, 1)) << "the first could be asked";
    s.projects[0].fetchable = false;
    EXPECT_EQ(work_to_piggyback(s, forecast, 1)->types[0].seconds, 500);
    EXPECT_FALSE(work_to_piggyback(s, forecast, 0));
    s.jobs[0].remaining = 2001;
    EXPECT_FALSE(work_to_piggyback(s, round_robin(s), 1)) << "the buffer is full";
}

TEST(Piggyback, OfBackedOffTypeOnlyByRealClient) {
    State s = cpu_state(1);
    s.projects[0].backoff_until = {s.now + 100};
    EXPECT_EQ(work_to_piggyback(s, round_robin(s), 0)->types[0].seconds, 2000);
    s.rules = Rules::kSeed;
    EXPECT_FALSE(work_to_piggyback(s, round_robin(s), 0));
}

TEST(Backoff, DoublesToDayAndIsClearedByJob) {
    Backoff b;
    double now = 1000;
    for (const double interval : {600, 1200, 2400, 4800, 9600, 19200, 38400, 76800, 86400, 86400}) {
        b.refused(now, 0.5);
        EXPECT_EQ(b.interval, interval);
        EXPECT_EQ(b.until, now + interval);
        b.refused(now + 1, 0.5);
        EXPECT_EQ(b.interval, interval) << "asked for beside another type: not backed off further";
        now = b.until;
    }
    b.clear();
    EXPECT_EQ(b.until, 0);
    b.refused(now, 0);
    EXPECT_EQ(b.until, now + 300);
}

}  // namespace
}  // namespace sluice::client
