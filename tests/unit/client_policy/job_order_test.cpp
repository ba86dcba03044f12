#include "sluice/client_policy/contact.h"
#include "states.h"

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
    State s = gpu_state(2, 1);
    s.jobs = {a_job(100), a_gpu_job(100), a_job(100, 90), a_gpu_job(100), a_job(100, 50)};
    s.jobs[3].deadline = s.now + 60;
    EXPECT_EQ(order_of(s), (Order{3, 4, 2}));
}

TEST(JobOrder, TheClientRunsTheEarliestDeadlinesOfAProjectThatMisses) {
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

TEST(JobOrder, AJobThatDoesNotFitIsPassedOver) {
    State s = cpu_state(4);
    s.jobs = {a_job(100), a_job(100), a_job(100)};
    s.jobs[1].instances = 4;
    EXPECT_EQ(order_of(s), (Order{0, 2}));
}

TEST(LateJobs, AreGivenUpOnlyWhenTheyHaveNotStarted) {
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

}  // namespace
}  // namespace sluice::client
