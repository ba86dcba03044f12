// SPDX-License-Identifier: LGPL-3.0-or-later
// Expected values: by hand, and by trying every moment at which a job can end.
#include "daemons/batches/fleet_plan.h"

#include <random>
#include <set>

namespace sluice {
namespace {

std::int64_t ended_one_by_one(const PlanHost& h, double t) {
    std::int64_t n = 0;
    while (h.delay + static_cast<double>(n + 1) * h.job_seconds <= t) ++n;
    return n * h.cpus;
}

/// Every moment at which some host ends a job, in order, until all jobs are done.
double least_moment(const std::vector<PlanHost>& hosts, std::int64_t jobs) {
    std::set<double> moments;
    for (const PlanHost& h : hosts)
        for (std::int64_t n = 1; n <= jobs; ++n) moments.insert(h.delay + static_cast<double>(n) * h.job_seconds);
    for (const double t : moments) {
        std::int64_t sum = 0;
        for (const PlanHost& h : hosts) sum += ended_one_by_one(h, t);
        if (sum >= jobs) return t;
    }
    ADD_FAILURE() << "never done";
    return 0;
}

TEST(FleetPlan, EqualsTryingEveryMoment) {
    std::mt19937 random(1);
    const auto up_to = [&](int n) { return static_cast<double>(random() % static_cast<unsigned>(n)); };
    for (int round = 0; round < 3000; ++round) {
        std::vector<PlanHost> hosts(1 + random() % 8);
        const bool whole = round % 2 == 0;  // whole numbers: many jobs end at one moment
        for (PlanHost& h : hosts) {
            h.cpus = 1 + random() % 4;
            h.delay = whole ? up_to(10) : up_to(1000) / 7;
            h.job_seconds = whole ? 1 + up_to(6) : 0.1 + up_to(1000) / 13;
        }
        const std::int64_t jobs = 1 + random() % 40;
        const FleetPlan plan = plan_fleet(hosts, jobs);
        ASSERT_TRUE(plan.possible);
        ASSERT_EQ(plan.finish, least_moment(hosts, jobs)) << "round " << round;
        for (std::size_t i = 0; i < hosts.size(); ++i) ASSERT_EQ(plan.jobs[i], ended_one_by_one(hosts[i], plan.finish));
    }
}

TEST(FleetPlan, AHostTooSlowIsNotInH) {
    // Two hosts need 100 s a job, the third 1000 s: four jobs take 200 s without it.
    const FleetPlan plan = plan_fleet({{1, 0, 100}, {1, 0, 100}, {1, 0, 1000}}, 4);
    EXPECT_EQ(plan.finish, 200);
    EXPECT_EQ(plan.jobs, (std::vector<std::int64_t>{2, 2, 0}));
}

TEST(FleetPlan, DelayAndProcessorsCount) {
    // The first ends 4 jobs at 60, the second its first at 50.
    const FleetPlan plan = plan_fleet({{4, 50, 10}, {1, 0, 50}}, 5);
    EXPECT_EQ(plan.finish, 60);
    EXPECT_EQ(plan.jobs, (std::vector<std::int64_t>{4, 1}));
}

TEST(FleetPlan, MinHostsRaisesTheTime) {
    const std::vector<PlanHost> hosts{{8, 0, 10}, {1, 0, 70}, {1, 30, 50}, {1, 0, 500}};
    EXPECT_EQ(plan_fleet(hosts, 3).finish, 10);
    EXPECT_EQ(plan_fleet(hosts, 3, 3).finish, 80);
    EXPECT_EQ(plan_fleet(hosts, 3, 100).finish, 500) << "fewer hosts than that: all of them";
    EXPECT_EQ(plan_fleet(hosts, 0, 2).finish, 70);
}

TEST(FleetPlan, NothingToDoAndNobodyToDoIt) {
    EXPECT_TRUE(plan_fleet({}, 0).possible);
    EXPECT_EQ(plan_fleet({{1, 5, 5}}, 0).finish, 0);
    EXPECT_FALSE(plan_fleet({}, 1).possible);
}

TEST(FleetPlan, ExtremesEndAndAreRight) {
    // 100,000 equal hosts: all jobs end at the same moments.
    const FleetPlan equal = plan_fleet(std::vector<PlanHost>(100000, {2, 3, 7}), 200001);
    EXPECT_EQ(equal.finish, 3 + 2 * 7);
    const FleetPlan tiny = plan_fleet({{1, 1e12, 1e-6}, {1'000'000, 0, 1e12}}, 1'000'000'000'000);
    EXPECT_GE(tiny.finish, 1e12);
    EXPECT_GE(tiny.jobs[0] + tiny.jobs[1], 1'000'000'000'000 - 1);
    EXPECT_EQ(plan_fleet({{1, 0, 1e-6}}, 1'000'000'000'000).jobs[0], 1'000'000'000'000);
}

}  // namespace
}  // namespace sluice
