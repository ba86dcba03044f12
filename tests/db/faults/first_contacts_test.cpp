// SPDX-License-Identifier: LGPL-3.0-or-later
// Hundreds of machines that the project has never seen, at once, with the real program.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/scheduler_world.h"

namespace sluice::test {
namespace {

TEST(FirstContacts, FiveHundredAtOnceGetHostIdEach) {
    constexpr int kMachines = 500;
    SchedulerWorld world;
    world.start_feeder(10);
    std::vector<std::unique_ptr<Subprocess>> running;
    for (int i = 0; i < kMachines; ++i) {
        RequestText r;
        r.domain_name = "new" + std::to_string(i);
        r.cpid = r.domain_name;
        running.push_back(world.start(r));
    }
    std::set<std::string> ids;
    for (auto& rpc : running) {
        const ReplyText reply{rpc->wait(600).value()};
        ASSERT_EQ(reply.malformed(), "");
        ASSERT_FALSE(reply.has("<project_is_down/>")) << reply.text();
        EXPECT_TRUE(ids.insert(reply.value("hostid")).second) << reply.text();
    }
    EXPECT_FALSE(ids.contains(""));
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM host")), kMachines);
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM sluice_host_rpc WHERE host_id>0")), kMachines);
}

/// Twenty machines whose client asks five times at once (a volunteer's script).
TEST(FirstContacts, SameMachineSeveralTimesTogetherIsOneHost) {
    constexpr int kMachines = 20, kTimes = 5;
    SchedulerWorld world;
    world.start_feeder(10);
    std::multimap<std::string, std::unique_ptr<Subprocess>> running;
    for (int i = 0; i < kMachines * kTimes; ++i) {
        RequestText r;
        r.domain_name = "new" + std::to_string(i % kMachines);
        r.cpid = "";
        running.emplace(r.domain_name, world.start(r));
    }
    std::map<std::string, std::set<std::string>> ids;
    for (auto& [machine, rpc] : running) {
        const ReplyText reply{rpc->wait(600).value()};
        ASSERT_EQ(reply.malformed(), "");
        EXPECT_FALSE(reply.has("<project_is_down/>")) << reply.text();
        if (!reply.value("hostid").empty()) ids[machine].insert(reply.value("hostid"));
    }
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM host")), kMachines);
    for (const auto& [machine, found] : ids) EXPECT_EQ(found.size(), 1u) << machine;
}

}  // namespace
}  // namespace sluice::test
