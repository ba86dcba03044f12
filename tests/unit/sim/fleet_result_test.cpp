// SPDX-License-Identifier: LGPL-3.0-or-later
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sched/sim/fleet_result.h"

namespace sluice::sim {
namespace {

TEST(FleetResult, SpreadIsOfRanks) {
    std::vector<double> hundred;
    for (int i = 100; i >= 1; --i) hundred.push_back(i);
    const Distribution s = spread_of(hundred);
    EXPECT_EQ(s.p50, 50);
    EXPECT_EQ(s.p95, 95);
    EXPECT_EQ(s.max, 100);
    EXPECT_EQ(s.n, 100u);
    EXPECT_EQ(spread_of({7}).p50, 7);
    EXPECT_EQ(spread_of({}).max, 0);
}

TEST(FleetResult, JsonHasEveryFigureOfTheContract) {
    FleetResult r;
    r.scenario = "demo";
    r.seed = 18446744073709551615u;
    r.simulated_seconds = 604800;
    r.jobs_submitted = 4, r.jobs_done = 3, r.jobs_missed = 2, r.jobs_errors = 1;
    r.makespan_hours = {1.5, 2.25, 1.0 / 3, 3};
    r.shares_over_time = {{0, "a", 0.25, 0.5}};
    r.waits_by_size_class["2"] = {1, 2, 3, 9};
    r.host_class_by_job_class = {{1, 2}, {3, 4}};
    const std::string text = to_json(r);
    EXPECT_EQ(text, to_json(r));
    const auto json = nlohmann::json::parse(text);
    for (const char* name : {"seed", "simulated_seconds", "jobs", "instances_per_job", "wasted_core_hours",
                             "throughput_per_day", "empty_replies", "makespan_hours", "in_band", "share_error"})
        EXPECT_TRUE(json.contains(name)) << name;
    EXPECT_EQ(json["seed"].get<std::uint64_t>(), r.seed);
    EXPECT_EQ(json["jobs"].dump(), R"({"done":3,"errors":1,"missed":2,"submitted":4})");
    EXPECT_EQ(json["makespan_hours"]["max"].get<double>(), 1.0 / 3);
    const auto& details = json["details"];
    for (const char* name :
         {"makespans_hours", "throughput_by_day", "waits_by_size_class", "host_class_by_job_class", "shares_over_time",
          "deadline_misses_by_day", "wasted_by_day", "empty_by_day", "statements_per_request", "bounds"})
        EXPECT_TRUE(details.contains(name)) << name;
    EXPECT_EQ(details["waits_by_size_class"].dump(), R"({"2":[1.0,2.0,3.0]})");
    EXPECT_EQ(details["shares_over_time"].dump(), R"([{"day":0,"ideal":0.5,"share":0.25,"user":"a"}])");
    EXPECT_EQ(details["host_class_by_job_class"].dump(), "[[1,2],[3,4]]");
}

}  // namespace
}  // namespace sluice::sim
