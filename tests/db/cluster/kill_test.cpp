// SPDX-License-Identifier: LGPL-3.0-or-later
// A node of the cluster is killed while clients ask for jobs and report them and two transitioners run, and comes back;
// $SLUICE_CLUSTER_KILLS times (once).
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "tests/db/cluster/cluster_world.h"

namespace sluice::test {
namespace {

TEST(Kill, ANodesDeathUnderLoadLosesNothing) {
    const int kills = kills_wanted(1);
    ClusterWorld world("<one_result_per_user_per_wu>1</one_result_per_user_per_wu>");
    world.add_jobs(kills * 400, 4);
    world.rest = 100;
    world.reporting = true;
    world.start_all();
    std::vector<Subprocess*> transitioners;
    for (const int machine : {0, 2})
        transitioners.push_back(&world.machine(machine).start("transitioner", {"--sleep_interval", "0.5"}));
    std::atomic<bool> over{false};
    const auto kill_and_restart = [&](int node) {
        const std::size_t before = world.told();
        eventually([&] { return world.told() > before + 50; });
        world.kill_node(node);
        const std::size_t at_kill = world.told();
        EXPECT_TRUE(eventually([&] { return world.told() > at_kill + 20; }, 90)) << "stuck";
        world.restart_node(node);
    };
    std::jthread clients(
        [&] { world.hand_out_all(1, [&] { return over && world.none_unsent() && world.unreported() == 0; }); });
    // In this thread: what it starts ends with it.
    for (int k = 0; k < kills; ++k) kill_and_restart(k % ClusterWorld::kMachines);
    over = true;
    clients.join();
    EXPECT_EQ(world.told(), static_cast<std::size_t>(kills) * 1600) << world.logs();
    EXPECT_TRUE(eventually(
        [&] { return world.number(1, Sql("SELECT COUNT(*) FROM workunit WHERE need_validate=0")) == 0; }, 120))
        << "a report whose transition was lost: " << transitioners[0]->err() << transitioners[1]->err();
    for (const Subprocess* transitioner : transitioners)  // all four of each are there, in some state, at any time
        EXPECT_EQ(transitioner->err().find("Generating"), std::string::npos) << transitioner->err();
    world.expect_nothing_lost_or_doubled();
    EXPECT_EQ(world.number(1, Sql("SELECT COUNT(*) FROM result WHERE server_state=5 AND outcome=1")), kills * 1600);
    std::printf("%d kills: the longest time without a reply was %.1f s\n", kills, world.longest_gap());
    EXPECT_LT(world.longest_gap(), 60);
}

}  // namespace
}  // namespace sluice::test
