// Small fleets with outcomes that can be worked out.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sched/sim/fleet.h"
#include "sluice/base/error.h"

namespace sluice::sim {
namespace {

/// One-core hosts of speed 1 that are always on, never fail and never leave.
Scenario perfect(int hosts, int jobs) {
    Scenario s;
    s.days = 3;
    s.fleet.hosts = hosts;
    s.fleet.speed_sigma = 0, s.fleet.lifetime_days = 0, s.fleet.error_rate = s.fleet.bad_hosts = 0;
    s.fleet.always_on = 1, s.fleet.daily = 0;
    s.apps.push_back({});
    s.users.push_back({});
    WorkSpec w;
    w.kind = WorkSpec::Kind::kBatches;
    w.jobs = jobs, w.poisson = false, w.every_hours = 1e6, w.size_sigma = 0;
    s.work.push_back(w);
    s.config_xml = "<shmem_work_items>100</shmem_work_items>";
    return s;
}

std::int64_t sum(const std::vector<std::int64_t>& list) {
    return std::accumulate(list.begin(), list.end(), std::int64_t{0});
}

TEST(Fleet, ABatchOnHostsThatNeverFailIsDoneOnce) {
    const FleetResult r = run_fleet(perfect(20, 60), {});
    EXPECT_EQ(r.jobs_submitted, 60);
    EXPECT_EQ(r.jobs_done, 60);
    EXPECT_EQ(r.jobs_errors, 0);
    EXPECT_EQ(r.instances_per_job, 1);
    EXPECT_EQ(r.wasted_core_hours, 0);
    EXPECT_NEAR(r.useful_core_hours, 60, 0.01) << "60 jobs of an hour at speed 1";
    ASSERT_EQ(r.makespans_hours.size(), 1u);
    EXPECT_EQ(sum(r.throughput_by_day), 60);
    ASSERT_EQ(r.bounds.idle_fleet_hours.size(), 1u);
    EXPECT_GT(r.bounds.idle_fleet_hours[0], 0.99) << "no job ends within less than its run time";
    EXPECT_LE(r.bounds.idle_fleet_hours[0], r.bounds.real_contacts_hours[0] + 1e-9);
    EXPECT_LE(r.bounds.real_contacts_hours[0], r.makespans_hours[0] + 1e-6);
}

TEST(Fleet, TheSameSeedGivesTheSameBytes) {
    Scenario s = perfect(30, 100);
    s.fleet = {};
    s.fleet.hosts = 30;
    const std::string once = to_json(run_fleet(s, {.seed = 5, .job_lines = nullptr}));
    EXPECT_EQ(to_json(run_fleet(s, {.seed = 5, .job_lines = nullptr})), once);
    EXPECT_NE(to_json(run_fleet(s, {.seed = 6, .job_lines = nullptr})), once);
}

TEST(Fleet, QuorumTwoTakesTwoInstances) {
    Scenario s = perfect(20, 30);
    s.work[0].quorum = 2;
    const FleetResult r = run_fleet(s, {});
    EXPECT_EQ(r.jobs_done, 30);
    EXPECT_EQ(r.instances_per_job, 2);
}

TEST(Fleet, HostsThatOnlyFailEndInErrors) {
    Scenario s = perfect(10, 5);
    s.days = 30;
    s.fleet.error_rate = 1;
    const FleetResult r = run_fleet(s, {});
    EXPECT_EQ(r.jobs_done, 0);
    EXPECT_EQ(r.jobs_errors, 5);
    EXPECT_EQ(r.useful_core_hours, 0);
}

TEST(Fleet, ADayWithoutTheDatabaseLosesNoJob) {
    Scenario s = perfect(20, 200);
    s.events.push_back({0.1, EventSpec::What::kDatabaseAway, 0, 24});
    const FleetResult r = run_fleet(s, {});
    EXPECT_EQ(r.jobs_done, 200);
    EXPECT_EQ(r.instances_per_job, 1);
    ASSERT_GE(r.throughput_by_day.size(), 2u);
    EXPECT_GT(r.throughput_by_day[1], 0);
}

TEST(Fleet, EveryJobHasALineOfCsv) {
    std::string lines;
    run_fleet(perfect(20, 60), {.seed = 1, .job_lines = &lines});
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 60);
    EXPECT_NE(lines.find(",1,done\n"), std::string::npos);
}

TEST(Fleet, AnOptionThatDoesNotExistIsRefused) {
    Scenario s = perfect(1, 1);
    s.config_xml += "<no_such_option/>";
    EXPECT_THROW(run_fleet(s, {}), ConfigError);
}

}  // namespace
}  // namespace sluice::sim
