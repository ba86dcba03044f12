// SPDX-License-Identifier: LGPL-3.0-or-later
// Feeders of three machines share the jobs among those of them that live.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "tests/db/cluster/cluster_world.h"

namespace sluice::test {
namespace {

constexpr std::size_t kJobs = 90;  ///< fewer than an array has slots

/// The feeders of these machines offer every job between them, each job once.
bool share_all(ClusterWorld& world, const std::vector<int>& machines) {
    std::set<Id> all;
    std::size_t offers = 0;
    for (const int i : machines) {
        const std::set<Id> mine = world.offered(i);
        offers += mine.size();
        all.insert(mine.begin(), mine.end());
    }
    return all.size() == kJobs && offers == kJobs;
}

TEST(Leases, FeedersDivideJobsAndInheritThoseOfDead) {
    ClusterWorld world;
    world.add_jobs(kJobs, 1);
    Subprocess& first = world.start_feeder(0);
    EXPECT_EQ(world.offered(0).size(), kJobs) << "alone it offers all";
    Subprocess& second = world.start_feeder(1);
    world.start_feeder(2);
    EXPECT_TRUE(eventually([&] { return share_all(world, {0, 1, 2}); }, 60)) << first.err();
    for (int i = 0; i < ClusterWorld::kMachines; ++i) EXPECT_NEAR(world.offered(i).size(), kJobs / 3, 3);
    second.send_signal(SIGKILL);
    second.wait();
    EXPECT_TRUE(eventually([&] { return share_all(world, {0, 2}); }, 90)) << "none is stranded: " << first.err();
    EXPECT_EQ(world.number(2, Sql("SELECT COUNT(*) FROM sluice_feeder")), 2);
    first.send_signal(SIGTERM);
    first.wait();
    EXPECT_TRUE(eventually([&] { return share_all(world, {2}); }, 60)) << "given back";
    EXPECT_EQ(world.number(2, Sql("SELECT COUNT(*) FROM sluice_feeder")), 1);
}

constexpr int kDemand = 600;

std::vector<double> node_seconds() {
    std::vector<double> seconds;
    for (int i = 0; i < GaleraCluster::kNodes; ++i) seconds.push_back(shared_cluster().node(i).cpu_seconds());
    return seconds;
}

/// No job is offered by two machines: the feeders have heard of each other.
bool offer_different_jobs(ClusterWorld& world, int machines) {
    std::set<Id> all;
    for (int i = 0; i < machines; ++i)
        for (const Id job : world.offered(i))
            if (!all.insert(job).second) return false;
    return true;
}

/// Jobs that a scheduler had claimed and found sent by another machine. The other machines have a node of the cluster
/// alone.
int claims_lost(const std::vector<std::string>& feeder_args, int machines) {
    ClusterWorld world("<sched_debug_level>3</sched_debug_level>");
    world.machines_asked = machines;
    world.add_jobs(kDemand, 1);
    world.start_all(feeder_args);
    if (feeder_args.empty()) {
        EXPECT_TRUE(eventually([&] { return offer_different_jobs(world, machines); }, 60)) << world.logs();
    }
    const std::vector<double> before = node_seconds();
    const auto begin = std::chrono::steady_clock::now();
    world.hand_out_all(3);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::vector<double> nodes = node_seconds();
    world.expect_nothing_lost_or_doubled();
    EXPECT_EQ(world.told(), static_cast<std::size_t>(kDemand));
    const int lost = world.lost_claims();
    std::printf("%d machines asked, feeders %s: %d jobs in %.1f s, %d claims lost; CPU of the database, ms a job:",
                machines, feeder_args.empty() ? "with leases" : "without", kDemand, seconds, lost);
    for (std::size_t i = 0; i < nodes.size(); ++i) std::printf(" %.2f", (nodes[i] - before[i]) * 1000 / kDemand);
    std::printf("\n");
    return lost;
}

TEST(Leases, FewerClaimsAreLost) {
    // All rows are every feeder's where a share is given by hand.
    const auto compare = [](int machines) {
        const int without = claims_lost({"--mod", "1", "0"}, machines), with = claims_lost({}, machines);
        // On a machine so busy that requests come one by one there are none to be lost.
        EXPECT_TRUE(machines < 3 || with <= without) << with << " " << without;
    };
    if (std::getenv("SLUICE_CLUSTER_KILLS") != nullptr)  // in the nightly run: also to be read
        for (const int machines : {1, 2}) compare(machines);
    compare(3);
}

}  // namespace
}  // namespace sluice::test
