// SPDX-License-Identifier: LGPL-3.0-or-later
// Expected values: seed 001 and its picture of shortfall, and an independent list schedule for one project.
#include <algorithm>
#include <random>

#include "tests/unit/client_policy/states.h"

namespace sluice::client {
namespace {

/// Each job starts on the instances that are free first, in FIFO order.
struct ListSchedule {
    std::vector<double> free, finish;
    double shortfall = 0, saturated = 0;

    ListSchedule(const State& s, double instances) : free(static_cast<std::size_t>(instances)) {
        std::vector<std::pair<double, double>> gaps;  // of one instance: from, to
        for (const Job& j : s.jobs) {
            std::sort(free.begin(), free.end());
            const auto k = std::min(static_cast<std::size_t>(j.instances), free.size());
            const double start = free[k - 1];
            for (std::size_t i = 0; i < k; ++i) {
                gaps.emplace_back(free[i], start);
                free[i] = start + j.remaining / s.on_frac;
            }
            finish.push_back(start + j.remaining / s.on_frac);
        }
        saturated = *std::min_element(free.begin(), free.end());
        for (const double f : free) gaps.emplace_back(f, s.max_buffer());
        for (const auto& [from, to] : gaps) {
            shortfall += std::max(0.0, std::min(to, s.max_buffer()) - from);
            if (to > from) saturated = std::min(saturated, from);
        }
    }
};

TEST(RoundRobin, OneProjectIsAListSchedule) {
    std::mt19937 random(3);
    for (int round = 0; round < 2000; ++round) {
        State s = cpu_state(1 + random() % 6, round % 2 == 0 ? Rules::kClient : Rules::kSeed);
        s.on_frac = round % 3 == 0 ? 0.5 : 1;
        const std::size_t jobs = random() % 12;
        for (std::size_t j = 0; j < jobs; ++j) {
            s.jobs.push_back(a_job(static_cast<double>(1 + random() % 900), static_cast<double>(random() % 4000)));
            s.jobs.back().instances = 1 + random() % static_cast<unsigned>(s.types[0].instances);
        }
        const ListSchedule expected(s, s.types[0].instances);
        const RoundRobin forecast = round_robin(s);
        ASSERT_NEAR(forecast.types[0].shortfall, expected.shortfall, 1e-6) << "round " << round;
        ASSERT_NEAR(forecast.types[0].saturated, expected.saturated, 1e-6) << "round " << round;
        for (std::size_t j = 0; j < jobs; ++j) {
            ASSERT_NEAR(forecast.finish[j], expected.finish[j], 1e-6) << "round " << round << " job " << j;
            const double margin = s.rules == Rules::kSeed ? 0 : 1000;
            const double late_by = s.now + expected.finish[j] - s.jobs[j].deadline + margin;
            if (std::abs(late_by) > 1e-3) {
                ASSERT_EQ(forecast.misses[j], late_by > 0);
            }
        }
    }
}

TEST(RoundRobin, AnEmptyQueueLacksEverything) {
    const RoundRobin forecast = round_robin(cpu_state(4));
    EXPECT_EQ(forecast.types[0].shortfall, 8000);
    EXPECT_EQ(forecast.types[0].idle_instances, 4);
    EXPECT_EQ(forecast.types[0].saturated, 0);
}

TEST(RoundRobin, TimesOffStretchTheQueue) {
    State s = cpu_state(1);
    s.on_frac = 0.25;
    s.jobs = {a_job(300)};
    EXPECT_EQ(round_robin(s).finish[0], 1200);
    EXPECT_EQ(round_robin(s).types[0].shortfall, 800);
}

TEST(RoundRobin, FractionsOfAGpuShareIt) {
    for (const Rules rules : {Rules::kClient, Rules::kSeed}) {
        State s = gpu_state(1, 1, rules);
        s.jobs = {a_gpu_job(100, 0.5), a_gpu_job(100, 0.5), a_gpu_job(100, 0.5)};
        const RoundRobin forecast = round_robin(s);
        EXPECT_EQ(forecast.finish, (std::vector<double>{100, 100, 200}));
        EXPECT_EQ(forecast.types[1].saturated, 100);
        EXPECT_EQ(forecast.types[1].shortfall, 0.5 * 100 + 1 * 1800);
    }
}

TEST(RoundRobin, GpuJobsUseCpusToo) {
    State s = gpu_state(2, 1);
    s.jobs = {a_gpu_job(500, 1, 1), a_job(500), a_job(500)};
    const RoundRobin forecast = round_robin(s);
    EXPECT_EQ(forecast.finish, (std::vector<double>{500, 500, 1000}));
    EXPECT_EQ(forecast.types[0].idle_instances, 0);
}

TEST(RoundRobin, IdleAreInstancesThatNoJobUsesNow) {
    State s = gpu_state(5, 3);
    s.jobs = {a_gpu_job(500, 1, 0.5), a_gpu_job(500, 0.5, 0.5), a_job(500)};
    s.jobs[2].instances = 2;
    const RoundRobin forecast = round_robin(s);
    EXPECT_EQ(forecast.types[0].idle_instances, 2);
    EXPECT_EQ(forecast.types[1].idle_instances, 1.5);
}

TEST(RoundRobin, AGpusCpuFractionBlocksNoJob) {
    State s = gpu_state(1, 1);
    s.jobs = {a_gpu_job(500, 1, 0.2), a_job(100)};
    EXPECT_EQ(round_robin(s).finish[1], 100);
}

TEST(RoundRobin, AJobWaitsForAllItsCpus) {
    State s = cpu_state(2, Rules::kSeed);
    s.jobs = {a_job(100), a_job(100), a_job(100)};
    s.jobs[0].instances = 0.6;
    EXPECT_EQ(round_robin(s).finish, (std::vector<double>{100, 100, 200}));
    EXPECT_DOUBLE_EQ(round_robin(s).types[0].idle_instances, 0.4);
    EXPECT_EQ(jobs_to_run(s, round_robin(s)), (std::vector<std::size_t>{0, 1}));
    s.rules = Rules::kClient;
    EXPECT_EQ(round_robin(s).finish, (std::vector<double>{100, 100, 100})) << "on the part that is left, too";
}

TEST(RoundRobin, BySeedSharesHoldOverTheSimulatedTime) {
    State s = cpu_state(1, Rules::kSeed);
    s.projects = {Project{300, 0, true, {0}}, Project{100, 0, true, {0}}};
    for (int i = 0; i < 100; ++i) s.jobs.push_back(a_job(3600, 1e9, 0));
    for (int i = 0; i < 100; ++i) s.jobs.push_back(a_job(3600, 1e9, 1));
    const RoundRobin forecast = round_robin(s);
    int first = 0, second = 0;  // done in the first 40 hours
    for (std::size_t j = 0; j < 200; ++j)
        if (forecast.finish[j] <= 40 * 3600 + 1) ++(j < 100 ? first : second);
    EXPECT_NEAR(first, 30, 1);
    EXPECT_NEAR(second, 10, 1);
}

TEST(DeadlineMiss, ClientKeepsItsMinimumBufferAwayFromDeadlines) {
    for (const auto& [due_in, client, seed] :
         {std::tuple(599.0, true, true), {601.0, true, false}, {1599.0, true, false}, {1601.0, false, false}}) {
        State s = cpu_state(1);
        s.jobs = {a_job(600, due_in)};
        EXPECT_EQ(round_robin(s).misses[0], client) << due_in;
        s.rules = Rules::kSeed;
        EXPECT_EQ(round_robin(s).misses[0], seed) << due_in;
    }
}

TEST(DeadlineMiss, TheClientsBufferIsAtLeastThreeMinutes) {
    State s = cpu_state(1);
    s.work_buf_min = 0;
    s.jobs = {a_job(600, 779)};
    EXPECT_TRUE(round_robin(s).misses[0]);
    s.jobs = {a_job(600, 781)};
    EXPECT_FALSE(round_robin(s).misses[0]);
}

/// tight-deadline measurements on boinc-client 7.20.5: six ordinary jobs of 120 s ahead on one CPU, one running, B =
/// 180.
TEST(DeadlineMiss, TheMeasuredBoundaryOfTheRealClient) {
    State s = cpu_state(1);
    s.work_buf_min = 180;
    for (int i = 0; i < 5; ++i) s.jobs.push_back(a_job(120));
    s.jobs.push_back(a_job(35));
    s.jobs.push_back(a_job(60, 868));
    EXPECT_TRUE(round_robin(s).misses.back());
    s.jobs.back().deadline = s.now + 884;
    EXPECT_FALSE(round_robin(s).misses.back());
}

TEST(BusyTime, OnlyJobsInDangerCount) {
    State s = cpu_state(1);
    s.jobs = {a_job(5000), a_job(52, 60)};
    EXPECT_EQ(busy_times(s, round_robin(s).misses), std::vector<double>{52});
    s.jobs = {a_job(5000)};
    EXPECT_EQ(busy_times(s, round_robin(s).misses), std::vector<double>{0});
}

TEST(BusyTime, LastsUntilTheFirstInstanceIsIdle) {
    State s = cpu_state(2);
    s.jobs = {a_job(500, 90), a_job(300, 80), a_job(100, 70), a_job(1000)};
    // By deadline: 100 and 300 start, 500 follows on the first at 100. (In the order of arrival: 400.)
    EXPECT_EQ(busy_times(s, {true, true, true, false}), std::vector<double>{300});
    EXPECT_EQ(busy_times(s, {false, true, false, false}), std::vector<double>{0}) << "one of two CPUs stays free";
}

}  // namespace
}  // namespace sluice::client
