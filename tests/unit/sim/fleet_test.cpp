// SPDX-License-Identifier: LGPL-3.0-or-later
// Small fleets with outcomes that can be worked out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "feeder/feeder.h"
#include "sched/sim/fleet.h"
#include "sched/sim/project.h"
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

TEST(Fleet, ABatchOnPerfectHostsIsDoneOnce) {
    const FleetResult r = simulate_fleet(perfect(20, 60), {});
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

/// Turns made when there is nothing to do cost a simulated request more than all the rest of it.
TEST(FeederTurns, AnIdleFeederTakesOneTurn) {
    FeederTurns turns;
    int made = 0;
    double wait = 2 * Feeder::kWalkWait;
    const auto turn = [&] { return ++made, wait; };
    const auto made_at = [&](double now) { return made = 0, turns.take(turn, now), made; };
    EXPECT_EQ(made_at(1000), 1) << "idle, however long ago the last turn was";
    EXPECT_EQ(made_at(1000 + Feeder::kWalkWait), 0) << "it waits";
    EXPECT_EQ(made_at(2000), 1);
    wait = Feeder::kWalkWait;
    EXPECT_EQ(made_at(3000), 20) << "a walk of which nobody sees an end";
    EXPECT_EQ(made_at(3000 + 3.5 * Feeder::kWalkWait), 3) << "one when its wait was over, two since";
    made = 0;
    turns.take([&] { return ++made < 5 ? 0 : 0.2; }, 4000);
    EXPECT_EQ(made, 5) << "until nothing is left to read";
}

TEST(Fleet, TheSameSeedGivesTheSameBytes) {
    Scenario s = perfect(30, 100);
    s.fleet = {};
    s.fleet.hosts = 30;
    const std::string once = to_json(simulate_fleet(s, {.seed = 5, .job_lines = nullptr}));
    EXPECT_EQ(to_json(simulate_fleet(s, {.seed = 5, .job_lines = nullptr})), once);
    EXPECT_NE(to_json(simulate_fleet(s, {.seed = 6, .job_lines = nullptr})), once);
}

/// A second instance of each, of which most wait when the first comes back: their hosts cancel and report them.
TEST(Fleet, UnneededCopiesMissNoDeadline) {
    Scenario s = perfect(10, 100);
    s.work[0].target = 2;
    const FleetResult r = simulate_fleet(s, {});
    EXPECT_EQ(r.jobs_done, 100);
    EXPECT_EQ(r.instances_per_job, 2);
    EXPECT_LT(r.useful_core_hours, 180) << "some were cancelled before they ran";
    EXPECT_EQ(r.jobs_missed, 0) << "they had a week";
    EXPECT_EQ(sum(r.deadline_misses_by_day), 0);
    EXPECT_NEAR(r.share_error, 0, 1e-9) << "there is one user only";
}

TEST(Fleet, QuorumTwoTakesTwoInstances) {
    Scenario s = perfect(20, 30);
    s.work[0].quorum = 2;
    const FleetResult r = simulate_fleet(s, {});
    EXPECT_EQ(r.jobs_done, 30);
    EXPECT_EQ(r.instances_per_job, 2);
}

TEST(Fleet, HostsThatOnlyFailEndInErrors) {
    Scenario s = perfect(10, 5);
    s.days = 30;
    s.fleet.error_rate = 1;
    const FleetResult r = simulate_fleet(s, {});
    EXPECT_EQ(r.jobs_done, 0);
    EXPECT_EQ(r.jobs_errors, 5);
    EXPECT_EQ(r.useful_core_hours, 0);
}

TEST(Fleet, LaterFailingHostsEndInErrors) {
    Scenario s = perfect(10, 5);
    s.days = 30;
    s.events.push_back({0, EventSpec::What::kHostsFail, 1, 0});
    const FleetResult r = simulate_fleet(s, {});
    EXPECT_EQ(r.jobs_done, 0);
    EXPECT_EQ(r.jobs_errors, 5);
}

TEST(Fleet, TwiceTheDemandIsBatchesTwiceAsOften) {
    Scenario s = perfect(5, 1);
    s.work[0].every_hours = 6;
    EXPECT_EQ(simulate_fleet(s, {}).jobs_submitted, 12) << "at 0, 6, ... 66 hours";
    s.events.push_back({0.4, EventSpec::What::kDemand, 2, 0});
    EXPECT_EQ(simulate_fleet(s, {}).jobs_submitted, 22) << "at 0, 6, 12, 15, ... 69 hours";
}

TEST(Fleet, HostsThatHearNoReplyDoNothing) {
    Scenario s = perfect(5, 10);
    s.fleet.lost_rate = 1;
    const FleetResult r = simulate_fleet(s, {});
    EXPECT_GT(r.requests, 5);
    EXPECT_EQ(r.jobs_done, 0);
    EXPECT_EQ(r.useful_core_hours, 0);
}

TEST(Fleet, WrongResultsNeverAgree) {
    Scenario s = perfect(10, 5);
    s.work[0].quorum = 2;
    s.fleet.wrong_rate = 1;
    const FleetResult r = simulate_fleet(s, {});
    EXPECT_EQ(r.jobs_done, 0);
    EXPECT_GT(r.wasted_core_hours, 10) << "two results of each job are there, and a third was asked for";
}

TEST(Fleet, BoundsHeedOtherProjectsAndWhenHostsAsk) {
    Scenario s = perfect(1, 1);
    s.fleet.other_share = 0.5;
    const FleetResult r = simulate_fleet(s, {});
    ASSERT_EQ(r.bounds.idle_fleet_hours.size(), 1u);
    EXPECT_NEAR(r.bounds.idle_fleet_hours[0], 2, 1e-6) << "an hour's work in half of the time";
    EXPECT_GT(r.bounds.real_contacts_hours[0], r.bounds.idle_fleet_hours[0]) << "no host asks at once";
}

TEST(Fleet, AThreadedJobTakesItsHost) {
    Scenario s = perfect(2, 2);
    s.apps[0].threads = true;
    s.work[0].size_hours = {8};
    s.fleet.trace = "hosts.csv";
    s.fleet.trace_text = "speed,cores,habit\n1,4,never_off\n10,1,never_off\n";
    const FleetResult r = simulate_fleet(s, {});
    EXPECT_EQ(r.jobs_done, 2);
    ASSERT_EQ(r.bounds.idle_fleet_hours.size(), 1u);
    EXPECT_NEAR(r.bounds.idle_fleet_hours[0], 4, 1e-6) << "two hours each, one after the other; none on one processor";
    EXPECT_GE(r.makespans_hours.at(0), 4);
    EXPECT_LT(r.makespans_hours.at(0), 6);
}

TEST(Fleet, ADayWithoutTheDatabaseLosesNoJob) {
    Scenario s = perfect(20, 200);
    s.events.push_back({0.1, EventSpec::What::kDatabaseAway, 0, 24});
    const FleetResult r = simulate_fleet(s, {});
    EXPECT_EQ(r.jobs_done, 200);
    EXPECT_EQ(r.instances_per_job, 1);
    ASSERT_GE(r.throughput_by_day.size(), 2u);
    EXPECT_GT(r.throughput_by_day[1], 0);
}

TEST(Fleet, EveryJobHasALineOfCsv) {
    std::string lines;
    simulate_fleet(perfect(20, 60), {.seed = 1, .job_lines = &lines});
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 60);
    EXPECT_NE(lines.find(",1,done\n"), std::string::npos);
}

TEST(Fleet, TwoLinesOfWorkAlikeHaveFiguresOwn) {
    Scenario s = perfect(20, 30);
    s.work.push_back(s.work[0]);
    s.work[1].jobs = 10;
    const FleetResult r = simulate_fleet(s, {});
    ASSERT_EQ(r.waits_by_size_class.size(), 2u);
    std::size_t waits = 0;
    for (const auto& [name, w] : r.waits_by_size_class) waits += w.n;
    EXPECT_EQ(waits, 40u);
}

TEST(Fleet, JobsThatAreSentAgainCountOnce) {
    Scenario s = perfect(10, 30);
    s.drain_days = 20;
    s.config_xml += "<resend_lost_results>1</resend_lost_results>";
    s.fleet.lost_rate = 0.3, s.fleet.buffer_factor = 0;
    s.work[0].every_hours = 6;
    const FleetResult r = simulate_fleet(s, {});
    EXPECT_EQ(r.jobs_done, 12 * 30);
    std::int64_t sent = 0;
    for (const auto& row : r.host_class_by_job_class) sent += sum(row);
    EXPECT_EQ(sent, std::llround(r.instances_per_job * 12 * 30));
}

TEST(Fleet, LostRepliesCostJobsOfFirstContactsOnly) {
    Scenario s = perfect(10, 360);
    s.days = 3, s.drain_days = 20;
    s.fleet.lost_rate = 0.5;
    s.users.push_back({"other", 1});
    s.work.push_back(s.work[0]);
    s.work[1].user = "other";
    const FleetResult r = simulate_fleet(s, {});
    EXPECT_EQ(r.jobs_done, 720);
    // A machine without a host id and without jobs is taken for one that was detached: what it was sent is made anew.
    EXPECT_LT(r.instances_per_job, 1 + 40.0 / 720) << "a job each of ten hosts' first replies";
    EXPECT_NEAR(r.useful_core_hours, 720, 0.01) << "to the last job";
    std::vector<double> ideal;
    for (const ShareOnDay& share : r.shares_over_time) {
        ideal.resize(std::max(ideal.size(), static_cast<std::size_t>(share.day) + 1));
        ideal[static_cast<std::size_t>(share.day)] += share.ideal;
    }
    for (const double all : ideal) EXPECT_TRUE(all == 0 || std::abs(all - 1) < 1e-9) << all << ": a report counts once";
}

TEST(Fleet, ThroughputIsOfDaysThatWorkComesIn) {
    Scenario s = perfect(1, 3);
    s.days = 0.4, s.drain_days = 5;
    s.work[0].size_hours = {12};
    const FleetResult r = simulate_fleet(s, {});
    EXPECT_EQ(r.jobs_done, 3);
    EXPECT_EQ(r.throughput_per_day, 0) << "all of it was done afterwards";
}

/// 40 hosts of which 8 vanish in their second hour, with a job each that they will never return.
Scenario with_lost_jobs() {
    Scenario s = perfect(40, 200);
    s.days = 3, s.drain_days = 20;
    s.fleet.buffer_factor = 0;
    s.events.push_back({0.07, EventSpec::What::kHostsVanish, 0.2, 0});
    return s;
}

TEST(Fleet, BatchAccelSpeedsUpLastJobsOfBatch) {
    Scenario s = with_lost_jobs();
    const FleetResult slow = simulate_fleet(s, {});
    EXPECT_EQ(slow.jobs_done, 200);
    ASSERT_EQ(slow.makespans_hours.size(), 1u);
    EXPECT_GT(slow.makespans_hours[0], 7 * 24) << "lost jobs are made again at their deadline";
    s.accel_every_hours = 1, s.keep_days = 14;
    s.stats_options = "--min_hosts 0 --min_ltt_frac 0";
    s.accel_options = "--min_frac_done 0.5 --max_extra_frac 0";
    const FleetResult fast = simulate_fleet(s, {});
    EXPECT_EQ(fast.jobs_done, 200);
    ASSERT_EQ(fast.makespans_hours.size(), 1u);
    EXPECT_LT(fast.makespans_hours[0], 24);
    EXPECT_EQ(to_json(simulate_fleet(s, {})), to_json(fast));
}

TEST(Fleet, WrongCommandLinesOfProgramsAreNamed) {
    const auto complaint = [](std::string Scenario::*field) {
        Scenario s = perfect(1, 1);
        s.*field = "--no_such_option";
        testing::internal::CaptureStderr();
        std::string said;
        try {
            simulate_fleet(s, {});
        } catch (const ConfigError& e) {
            said = e.what();
        }
        EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "what is thrown is printed once";
        EXPECT_NE(said.find("--no_such_option"), std::string::npos) << said;
        EXPECT_EQ(said.find('\n'), std::string::npos) << said;
        return said;
    };
    EXPECT_EQ(complaint(&Scenario::feeder).find("feeder"), 0u);
    EXPECT_EQ(complaint(&Scenario::stats_options).find("batch_stats"), 0u);
    EXPECT_EQ(complaint(&Scenario::accel_options).find("batch_accel"), 0u);
}

TEST(Fleet, AnOptionThatDoesNotExistIsRefused) {
    Scenario s = perfect(1, 1);
    s.config_xml += "<no_such_option/>";
    EXPECT_THROW(simulate_fleet(s, {}), ConfigError);
}

}  // namespace
}  // namespace sluice::sim
