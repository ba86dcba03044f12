// SPDX-License-Identifier: LGPL-3.0-or-later
// T and H of many batches on a fleet: seed 000's technique, and what simulation showed to go wrong without these rules.
#include "daemons/batches/planner_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "daemons/batches/fleet_plan.h"
#include "sluice/model/batch_plan.h"

namespace sluice::test {
namespace {

/// Hosts that are always on; speeds in operations a second.
FleetCapacity fleet_of(const std::vector<double>& speeds, double free_at = 0, int cpus = 1) {
    FleetCapacity f;
    for (const double speed : speeds) {
        f.ids.push_back(static_cast<Id>(f.ids.size()) + 1);
        f.types.push_back(ProcType::kCpu);
        f.cpus.push_back(cpus);
        f.free_at.push_back(free_at);
        f.availability.push_back(1);
        f.seconds_per_op.push_back(static_cast<float>(1 / speed));
    }
    return f;
}

/// The seed's technique alone.
PlanRules bare() { return {.margin = 1, .min_hosts = 0, .patience = 0, .least = 0, .horizon = 1e9}; }

TEST(BatchesPlan, OneBatchIsPlannedAsExactTechniqueSays) {
    std::mt19937_64 bits(7);
    const auto uniform = [&] { return std::uniform_real_distribution<double>()(bits); };
    for (int world = 0; world < 40; ++world) {
        FleetCapacity fleet;
        std::vector<PlanHost> hosts;
        const int n = 1 + static_cast<int>(30 * uniform());
        for (int h = 0; h < n; ++h) {
            const double delay = 5000 * uniform(), seconds = 50 + 5000 * uniform();
            const int cpus = 1 + static_cast<int>(8 * uniform());
            fleet.ids.push_back(h + 1);
            fleet.types.push_back(ProcType::kCpu);
            fleet.cpus.push_back(cpus);
            fleet.free_at.push_back(delay);
            fleet.availability.push_back(1);
            fleet.seconds_per_op.push_back(static_cast<float>(seconds / 1e12));
            hosts.push_back({cpus, delay, seconds});
        }
        const auto jobs = 1 + static_cast<std::int64_t>(400 * uniform());
        const FleetPlan exact = plan_fleet(hosts, jobs);
        const auto planned = plan_batches(fleet, {{1, 1, jobs, 1e12, 0}}, bare());
        ASSERT_TRUE(planned[0].planned);
        EXPECT_GE(planned[0].finish, exact.finish * 0.9999);
        EXPECT_LE(planned[0].finish, exact.finish * 1.003 + 1);
    }
}

/// GPUs of the host that was added last.
void add_gpus(FleetCapacity& f, int count, double speed, double free_at = 0) {
    f.ids.push_back(f.ids.back());
    f.types.push_back(ProcType::kNvidia);
    f.cpus.push_back(count);
    f.free_at.push_back(free_at);
    f.availability.push_back(1);
    f.seconds_per_op.push_back(static_cast<float>(1 / speed));
}
AppUse cpu_app() { return {ResourceUse{.devices = 1}}; }
AppUse gpu_app(double devices = 1, double cpus = 0) {
    return {ResourceUse{}, ResourceUse{.devices = devices, .cpus = cpus}};
}
AppUse both_app() { return {ResourceUse{.devices = 1}, ResourceUse{.devices = 1}}; }

/// Each device of a host, whatever it is, does one job after the other: what can be had is what the exact technique
/// finds on so many hosts.
TEST(BatchesPlan, GpuBatchesArePlannedAsTheReference) {
    std::mt19937_64 bits(11);
    const auto uniform = [&] { return std::uniform_real_distribution<double>()(bits); };
    for (int world = 0; world < 60; ++world) {
        FleetCapacity fleet;
        fleet.uses = {{1, cpu_app()}, {2, gpu_app()}, {3, both_app()}, {4, gpu_app(0.5)}};
        const Id app = 1 + world % 4;
        std::vector<PlanHost> able;
        std::set<Id> hosts;
        const auto add = [&](ProcType type, int count, bool usable, double at_once) {
            const double delay = 5000 * uniform(), seconds = 50 + 5000 * uniform();
            fleet.types.push_back(type);
            fleet.cpus.push_back(count);
            fleet.free_at.push_back(delay);
            fleet.availability.push_back(1);
            fleet.seconds_per_op.push_back(static_cast<float>(seconds / 1e12));
            if (usable) able.push_back({static_cast<std::int64_t>(at_once), delay, seconds});
            if (usable) hosts.insert(fleet.ids.back());
        };
        const int n = 2 + static_cast<int>(30 * uniform());
        for (int h = 0; h < n; ++h) {
            const int cpus = 1 + static_cast<int>(8 * uniform()), gpus = h == 0 || uniform() < 0.4 ? 1 + h % 3 : 0;
            fleet.ids.push_back(h + 1);
            add(ProcType::kCpu, cpus, app == 1 || app == 3, cpus);
            if (gpus == 0) continue;
            fleet.ids.push_back(h + 1);
            add(ProcType::kNvidia, gpus, app != 1, app == 4 ? 2 * gpus : gpus);
        }
        const auto jobs = 1 + static_cast<std::int64_t>(400 * uniform());
        const FleetPlan exact = plan_fleet(able, jobs);
        const auto planned = plan_batches(fleet, {{1, app, jobs, 1e12, 0}}, bare());
        ASSERT_TRUE(planned[0].planned);
        EXPECT_GE(planned[0].finish, exact.finish * 0.9999) << app;
        EXPECT_LE(planned[0].finish, exact.finish * 1.003 + 1) << app;
        EXPECT_LE(planned[0].hosts, static_cast<std::int64_t>(hosts.size()));
    }
}

/// A job takes several processors, as many as its version uses on each host: at least one runs at a time, and none
/// where no version runs.
TEST(BatchesPlan, ThreadedJobsArePlannedAsTheReference) {
    std::mt19937_64 bits(13);
    const auto uniform = [&] { return std::uniform_real_distribution<double>()(bits); };
    for (int world = 0; world < 60; ++world) {
        FleetCapacity fleet;
        fleet.uses = {{1, both_app()}};
        std::vector<PlanHost> able;
        const int n = 2 + static_cast<int>(30 * uniform());
        for (int h = 0; h < n; ++h) {
            const int cpus = 1 + static_cast<int>(16 * uniform());
            const int threads = h == 0 ? 3 : static_cast<int>(6 * uniform()), gpus = h % 4 == 1 ? 2 : 0;
            for (const auto& [type, count] : {std::pair{ProcType::kCpu, cpus}, {ProcType::kNvidia, gpus}}) {
                if (count == 0) continue;
                const double delay = 5000 * uniform(), seconds = 50 + 5000 * uniform();
                fleet.ids.push_back(h + 1);
                fleet.types.push_back(type);
                fleet.cpus.push_back(count);
                fleet.free_at.push_back(delay);
                fleet.availability.push_back(1);
                fleet.seconds_per_op.push_back(static_cast<float>(seconds / 1e12));
                const bool cpu = type == ProcType::kCpu;
                fleet.threads[1].push_back(cpu ? static_cast<float>(threads) : 0);
                if (!cpu) able.push_back({count, delay, seconds});
                if (cpu && threads > 0) able.push_back({std::max(cpus / threads, 1), delay, seconds});
            }
        }
        const auto jobs = 1 + static_cast<std::int64_t>(400 * uniform());
        const FleetPlan exact = plan_fleet(able, jobs);
        const auto planned = plan_batches(fleet, {{1, 1, jobs, 1e12, 0}}, bare());
        ASSERT_TRUE(planned[0].planned);
        EXPECT_GE(planned[0].finish, exact.finish * 0.9999) << world;
        EXPECT_LE(planned[0].finish, exact.finish * 1.003 + 1) << world;
    }
}

TEST(BatchesPlan, GpuAndCpuBatchesAreIndependent) {
    FleetCapacity fleet = fleet_of({1e9, 1e9}, 0, 4);
    add_gpus(fleet, 2, 1e10);
    fleet.uses = {{1, cpu_app()}, {2, gpu_app(1, 0.1)}};
    const auto planned = plan_batches(fleet, {{1, 2, 20, 1e13, 0}, {2, 1, 8, 1e12, 0}}, bare());
    EXPECT_NEAR(planned[0].finish, 10'000, 25) << "ten of a thousand seconds on each GPU";
    EXPECT_EQ(planned[0].hosts, 1);
    // The GPUs' jobs take 2 * 0.1 of the second host's four processors, which begin a twentieth of the time later.
    EXPECT_NEAR(planned[1].finish, 1500, 5);
    EXPECT_EQ(planned[1].hosts, 2);
}

TEST(BatchesPlan, HostsWithoutADeviceAreNotCounted) {
    FleetCapacity fleet = fleet_of({1e12, 1e9});
    add_gpus(fleet, 1, 1e10);
    fleet.uses = {{2, gpu_app()}, {3, gpu_app(2)}};
    const auto planned = plan_batches(fleet, {{1, 2, 1, 1e12, 0}, {2, 3, 1, 1e12, 0}}, PlanRules{.margin = 1});
    EXPECT_NEAR(planned[0].finish, 360, 1);
    EXPECT_EQ(planned[0].hosts, 1);
    EXPECT_FALSE(planned[1].planned) << "nobody has the two GPUs that a job of it takes";
    EXPECT_EQ(fleet.free_at[0], 0);
}

TEST(BatchesPlan, EightHostsInHAreNotEightDevices) {
    FleetCapacity fleet;
    for (int h = 0; h < 10; ++h) {
        const double speed = h < 5 ? 1e10 : 1e9;
        fleet.ids.push_back(h + 1);
        fleet.types.push_back(ProcType::kCpu);
        fleet.cpus.push_back(1);
        fleet.free_at.push_back(0);
        fleet.availability.push_back(1);
        fleet.seconds_per_op.push_back(static_cast<float>(1 / speed));
        add_gpus(fleet, 1, speed);
    }
    fleet.uses = {{3, both_app()}};
    const auto planned = plan_batches(fleet, {{1, 3, 1, 1e12, 0}}, PlanRules{.margin = 1});
    EXPECT_NEAR(planned[0].finish, 1000, 3);
    EXPECT_EQ(planned[0].hosts, 10);
    EXPECT_EQ(fleet.hosts(), 10U);
}

TEST(BatchesPlan, ItsHostsAreThoseInTimeForT) {
    FleetCapacity fleet = fleet_of({1e9, 1e9, 1e8});  // 1000 s, 1000 s, 10,000 s a job
    fleet.free_at[1] = 500;
    const auto planned = plan_batches(fleet, {{1, 1, 3, 1e12, 0}}, bare());
    EXPECT_NEAR(planned[0].finish, 2000, 10);  // 2 on the first, 1 on the second
    EXPECT_EQ(planned[0].hosts, 2);
    EXPECT_EQ(fleet.free_at[0], planned[0].finish);
    EXPECT_EQ(fleet.free_at[1], planned[0].finish);
    EXPECT_EQ(fleet.free_at[2], 0) << "it does nothing for the batch";
}

TEST(BatchesPlan, LaterBatchesGetWhatIsLeft) {
    FleetCapacity fleet = fleet_of({1e9, 1e9});
    const auto planned = plan_batches(fleet, {{1, 1, 2, 1e12, 0}, {2, 1, 2, 1e12, 0}}, bare());
    EXPECT_NEAR(planned[0].finish, 1000, 5);
    EXPECT_NEAR(planned[1].finish, 2000, 10);
}

TEST(BatchesPlan, ABatchAlreadySentTakesNothing) {
    FleetCapacity fleet = fleet_of({1e9, 1e9});
    const auto planned =
        plan_batches(fleet, {{1, 1, 0, 1e12, 0}, {2, 1, 2, 1e12, 0}}, PlanRules{.margin = 1, .min_hosts = 2});
    EXPECT_TRUE(planned[0].planned) << "a job that comes back undone must find its T";
    EXPECT_NEAR(planned[0].finish, 1000, 5);
    EXPECT_NEAR(planned[1].finish, 1000, 5);
}

TEST(BatchesPlan, WhatWasMeasuredOfTheAppCounts) {
    FleetCapacity fleet = fleet_of({1e9});
    fleet.measured[5] = {1e-8F};
    EXPECT_NEAR(plan_batches(fleet, {{1, 5, 1, 1e12, 0}}, bare())[0].finish, 10000, 25);
    fleet.free_at[0] = 0;
    EXPECT_NEAR(plan_batches(fleet, {{1, 6, 1, 1e12, 0}}, bare())[0].finish, 1000, 5);
}

TEST(BatchesPlan, ShortJobsMeetFewerPausesThanLongOnes) {
    EXPECT_DOUBLE_EQ(planned_run_time(100, 1), 100);
    EXPECT_NEAR(planned_run_time(60, 0.25), 60 * (1 + 3 * 60 / 21600.0), 1e-9);
    EXPECT_DOUBLE_EQ(planned_run_time(86400, 0.25), 4 * 86400);
}

// T computed from one host that can't take what is left (it had an instance already) is one that nobody reaches.
TEST(BatchesPlan, AtLeastEightHostsAreInH) {
    std::vector<double> speeds(20, 1e8);
    speeds[0] = 1e10;
    FleetCapacity fleet = fleet_of(speeds);
    const auto planned = plan_batches(fleet, {{1, 1, 1, 1e12, 0}}, PlanRules{.margin = 1});
    EXPECT_NEAR(planned[0].finish, 10000, 30);
    EXPECT_GE(planned[0].hosts, 8);
    FleetCapacity few = fleet_of({1e9, 1e8});
    EXPECT_EQ(plan_batches(few, {{1, 1, 1, 1e12, 0}}, PlanRules{.margin = 1})[0].hosts, 2)
        << "where there are fewer, all";
}

// Of few hosts one tells an absurd speed, or is a thousand times slower: the others are planned without it.
TEST(BatchesPlan, EndlessHostDoesNotBlockSmallFleet) {
    for (const double speed : {1e-30, 1e3}) {
        FleetCapacity fleet = fleet_of({1e9, 1e9, speed});
        const BatchTarget planned = plan_batches(fleet, {{1, 1, 4, 1e12, 0}}, PlanRules{.margin = 1})[0];
        EXPECT_TRUE(planned.planned) << speed;
        EXPECT_NEAR(planned.finish, 2000, 5);
        EXPECT_EQ(planned.hosts, 2);
    }
    FleetCapacity hopeless = fleet_of({1e-30, 1e3});
    EXPECT_FALSE(plan_batches(hopeless, {{1, 1, 4, 1e12, 0}}, PlanRules{})[0].planned);
}

TEST(BatchesPlan, ABatchThatNobodyTakesGetsMoreTime) {
    const auto finish = [](double waited) {
        FleetCapacity fleet = fleet_of(std::vector<double>(10, 1e9));
        return plan_batches(fleet, {{1, 1, 5, 1e12, waited}}, PlanRules{.margin = 1})[0].finish;
    };
    EXPECT_NEAR(finish(0), 1000, 5);
    EXPECT_NEAR(finish(1800), 1000, 5);
    EXPECT_NEAR(finish(20000), 10000, 1);
}

TEST(BatchesPlan, ShortBatchesHaveMinutesToBeTaken) {
    FleetCapacity fleet = fleet_of(std::vector<double>(10, 1e12));
    EXPECT_GE(plan_batches(fleet, {{1, 1, 5, 1e12, 0}}, PlanRules{})[0].finish, 360);
}

TEST(BatchesPlan, WhatExceedsTheHorizonIsNotPlanned) {
    FleetCapacity fleet = fleet_of(std::vector<double>(10, 1e9));
    const auto planned = plan_batches(fleet, {{1, 1, 1'000'000, 1e12, 0}, {2, 1, 10, 1e12, 0}},
                                      PlanRules{.margin = 1, .horizon = 86400});
    EXPECT_FALSE(planned[0].planned);
    EXPECT_TRUE(planned[1].planned);
    EXPECT_NEAR(planned[1].finish, 1000, 5);
}

TEST(BatchesPlan, NoHostsAndWildEstimatesEndSomewhere) {
    FleetCapacity nobody;
    EXPECT_FALSE(plan_batches(nobody, {{1, 1, 5, 1e12, 0}}, PlanRules{})[0].planned);
    for (const double fpops : {0.0, 1e-300, 1e300}) {
        FleetCapacity fleet = fleet_of({1e9, 1e-30, 1e9});
        const auto planned = plan_batches(fleet, {{1, 1, 5, fpops, 0}}, PlanRules{})[0];
        EXPECT_EQ(planned.planned, fpops < 1) << fpops;
        EXPECT_TRUE(std::isfinite(planned.finish));
    }
}

}  // namespace
}  // namespace sluice::test
