// SPDX-License-Identifier: LGPL-3.0-or-later
// The fleet of a real project: what its database says of machines and apps, and nothing of people.
#include "sched/sim/project_fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/sim/population.h"
#include "sluice/base/error.h"
#include "tests/support/database_rows.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kNow = 1'700'000'000;

class ProjectFleet : public testing::Test {
  protected:
    ProjectFleet() : db(PrivateMariaDb::shared().create_project_database("fleet")), store(make_fleet_store(db)) {
        host(1, 3e9, 4, kNow - 1000);
        host(2, 1.5e9, 0, kNow - 1000).avg_turnaround = 0;
        host(3, 2e9, 2, kNow - 40 * 86400);  // was not heard of lately
        host(4, 0, 2, kNow - 1000);          // nobody measured it
        for (const Id id : {1, 2, 3}) {
            App& app = rows.apps[id];
            app.id = id;
            app.name = "app" + std::to_string(id);
            app.n_size_classes = 3;
            app.homogeneous_redundancy = HrType::kCoarse;
            app.deprecated = id == 3;
        }
    }
    Host& host(Id id, double speed, int cpus, std::int64_t heard) {
        Host& h = rows.hosts[id];
        h.id = id;
        h.userid = 77;
        h.p_fpops = speed, h.p_ncpus = cpus, h.rpc_time = heard;
        h.m_nbytes = 16e9, h.d_free = 50e9;
        h.on_frac = 0.5, h.active_frac = 0.9;
        h.avg_turnaround = 4 * 86400;
        h.os_name = "Linux Ubuntu, 22.04", h.p_vendor = "GenuineIntel", h.p_model = "i5 [Family 6]";
        h.domain_name = "alices-laptop", h.last_ip_addr = "192.0.2.7", h.host_cpid = "abcdef";
        return h;
    }
    void store_all() {
        truncate_all_tables(db);
        store_rows(db, rows);
    }
    FakeDb rows;
    Database db;
    std::unique_ptr<FleetStore> store;
};

TEST_F(ProjectFleet, IsATraceWithoutNames) {
    store_all();
    const std::string csv = sim::fleet_csv(*store, kNow);
    EXPECT_EQ(csv,
              "speed,cores,gpus,memory_gb,disk_gb,habit,os,vendor,model,buffer_min_days,buffer_additional_days\n"
              "1.5,1,0,16,50,daily,Linux Ubuntu  22.04,GenuineIntel,i5 [Family 6],,\n"
              "3,4,0,16,50,daily,Linux Ubuntu  22.04,GenuineIntel,i5 [Family 6],2,2\n");
    for (const char* private_thing : {"alice", "192.0.2.7", "abcdef", "77"})
        EXPECT_THAT(csv, Not(HasSubstr(private_thing)));
    sim::Fleet fleet;
    fleet.trace = "hosts of a project";
    fleet.trace_text = csv;
    const auto hosts = sim::read_trace(fleet, 1);
    ASSERT_EQ(hosts.size(), 2u);
    EXPECT_EQ(hosts[1].speed, 3);
    EXPECT_EQ(hosts[1].cores, 4);
    EXPECT_EQ(hosts[1].buffer_min, 2 * 86400);
    EXPECT_EQ(hosts[1].os, "Linux Ubuntu  22.04");
}

// One client that says nonsense must not take the fleet of thousands from the admin.
TEST_F(ProjectFleet, AbsurdHostsLeaveTraceThatCanBeRead) {
    Host& most = host(5, 1e300, 2'000'000'000, kNow);
    most.m_nbytes = most.d_free = 1e300;
    most.on_frac = most.avg_turnaround = 1e300;
    most.os_name = "a,b\n\"c", most.p_model = "";
    Host& least = host(6, 2e9, -7, kNow);
    least.m_nbytes = least.d_free = least.on_frac = least.avg_turnaround = -1e300;
    host(7, 1e-300, 1, kNow);
    store_all();
    sim::Fleet fleet;
    fleet.trace = "hosts of a project";
    fleet.trace_text = sim::fleet_csv(*store, kNow);
    const auto hosts = sim::read_trace(fleet, 1);
    ASSERT_EQ(hosts.size(), 4u) << fleet.trace_text;
    EXPECT_EQ(hosts[0].cores, 1);
    EXPECT_EQ(hosts[0].memory, 0);
    EXPECT_EQ(hosts[1].speed, 1000);
    EXPECT_EQ(hosts[1].os, "a b \"c");
}

TEST_F(ProjectFleet, AProjectWithoutHostsIsAnError) {
    rows.hosts = {};
    store_all();
    EXPECT_THROW(sim::fleet_csv(*store, kNow), Error);
}

TEST_F(ProjectFleet, ItsAppsAreTheScenarios) {
    store_all();
    sim::Scenario scenario;
    scenario.apps = {{.name = "mine"}, {.name = "app2"}};
    sim::take_apps(*store, scenario);
    ASSERT_EQ(scenario.apps.size(), 3u);
    EXPECT_EQ(scenario.apps[0].name, "mine");
    EXPECT_EQ(scenario.apps[0].size_classes, 0);
    EXPECT_EQ(scenario.apps[1].name, "app2");
    EXPECT_EQ(scenario.apps[1].size_classes, 3);
    EXPECT_EQ(scenario.apps[1].homogeneous_redundancy, static_cast<int>(HrType::kCoarse));
    EXPECT_EQ(scenario.apps[2].name, "app1");
}

}  // namespace
}  // namespace sluice::test
