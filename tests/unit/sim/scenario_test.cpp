// SPDX-License-Identifier: LGPL-3.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/sim/scenario.h"

namespace sluice::sim {
namespace {

using testing::HasSubstr;

std::string complaint(const std::string& text) {
    try {
        parse_scenario(json::parse(text, "test"));
    } catch (const json::InputError& e) {
        return e.what();
    }
    return "";
}

TEST(Scenario, EveryBuiltInOneIsRight) {
    EXPECT_EQ(built_in_scenarios().size(), 6u);
    for (const BuiltInScenario& b : built_in_scenarios()) EXPECT_EQ(load_scenario(b.name).name, b.name);
    EXPECT_THROW(load_scenario("nothing_of_the_kind"), Error);
}

TEST(Scenario, ComplaintsNameThePlace) {
    EXPECT_THAT(complaint(R"({"work": [{"kind": "stream", "keep": 1, "size": 3}]})"), HasSubstr("work[0]"));
    EXPECT_THAT(complaint(R"({"work": [{"kind": "stream", "keep": 1, "size": 3}]})"), HasSubstr("size"));
    EXPECT_THAT(complaint(R"({"work": [], "fleet": {"hosts": -1}})"), HasSubstr("fleet.hosts"));
    EXPECT_THAT(complaint(R"({"work": [{"kind": "streams"}]})"), HasSubstr("work[0].kind"));
    EXPECT_THAT(complaint(R"({"work": [{"kind": "stream"}]})"), HasSubstr("work[0].jobs_per_day"));
    EXPECT_THAT(complaint(R"({"work": [{"kind": "stream", "keep": 1, "user": "eve"}]})"), HasSubstr("work[0].user"));
    EXPECT_THAT(complaint(R"({"work": [], "days": 2, "warmup_days": 2})"), HasSubstr("warmup_days"));
    EXPECT_THAT(complaint(R"({"work": [], "events": [{"at_day": 1, "what": "flood"}]})"), HasSubstr("events[0].what"));
    EXPECT_THAT(complaint(R"({"work": [], "apps": [{"name": "a", "gpu": true, "threads": true}]})"),
                HasSubstr("apps[0].threads: is for apps without"));
    EXPECT_EQ(complaint(R"({"work": []})"), "");
}

/// Of two that say the same thing one would not count.
TEST(Scenario, DuplicatesAndBrokenXmlAreRefused) {
    EXPECT_THAT(complaint(R"({"work": [], "users": [{"name": "ann"}, {"name": "ann"}]})"),
                HasSubstr("users: 'ann' stands twice"));
    EXPECT_THAT(complaint(R"({"work": [], "apps": [{"name": "a"}, {"name": "a"}]})"),
                HasSubstr("apps: 'a' stands twice"));
    EXPECT_THAT(complaint(R"({"work": [{"kind": "stream", "keep": 1, "size_hours": 1, "sizes": [{"hours": 2}]}]})"),
                HasSubstr("work[0].sizes: stands beside size_hours"));
    EXPECT_THAT(complaint(R"({"work": [{"kind": "stream", "keep": 1, "jobs_per_day": 5}]})"),
                HasSubstr("work[0].keep: stands beside jobs_per_day"));
    EXPECT_THAT(complaint(R"({"work": [], "config": {"</config><x": 1}})"), HasSubstr("is not the name of an option"));
    EXPECT_THAT(complaint(R"({"work": [], "config": {"long_name": "</long_name></config>"}})"),
                HasSubstr("config.long_name: has tags that are not closed in it"));
    EXPECT_THAT(complaint(R"({"work": [], "config": {"score_weights": "<waiting>0<waiting>"}})"),
                HasSubstr("config.score_weights: has tags"));
    EXPECT_EQ(complaint(R"({"work": [{"kind": "stream", "keep": 1}],
                            "config": {"score_weights": "<waiting>0</waiting><beta>1</beta>"}})"),
              "");
}

/// They would overflow, or fill the memory with jobs before the first host asks.
TEST(Scenario, WhatNoRunCouldHoldIsRefused) {
    const auto work = [](const std::string& more) { return R"({"work": [{"kind": )" + more + "}]}"; };
    EXPECT_THAT(complaint(work(R"("batches", "every_hours": 1e-300)")),
                HasSubstr("every_hours: 1e-300 must be at least"));
    EXPECT_THAT(complaint(work(R"("stream", "jobs_per_day": 1e300)")),
                HasSubstr("jobs_per_day: 1e+300 must be at most"));
    EXPECT_THAT(complaint(work(R"("stream", "keep": 1, "delay_bound_days": 1e300)")),
                HasSubstr("delay_bound_days: 1e+300"));
    EXPECT_THAT(complaint(R"({"work": [], "events": [{"at_day": 1, "what": "hosts_join", "part": 1e300}]})"),
                HasSubstr("events[0].part: 1e+300"));
    EXPECT_THAT(complaint(R"({"work": [], "fleet": {"lifetime_days": 1e-300}})"),
                HasSubstr("fleet.lifetime_days: must be 0 (for ever) or at least 0.01"));
    EXPECT_EQ(complaint(R"({"work": [], "fleet": {"lifetime_days": 0}})"), "");
}

TEST(Scenario, FieldsOfOverrideTakePlaceOfItsOwn) {
    const Scenario own = load_scenario("demo");
    const Scenario s = load_scenario(
        "demo", {"b.json", R"({"days": 3, "fleet": {"hosts": 10}, "batch_accel": {"options": "--no_stats"}})"});
    EXPECT_EQ(s.name, own.name);
    EXPECT_EQ(s.days, 3);
    EXPECT_EQ(s.fleet.hosts, 10);
    EXPECT_EQ(s.fleet.buffer_factor, own.fleet.buffer_factor);
    EXPECT_EQ(s.work.size(), own.work.size());
    EXPECT_EQ(own.accel_every_hours, 0);
    EXPECT_EQ(s.accel_every_hours, 1);
    EXPECT_EQ(s.accel_options, "--no_stats");
    EXPECT_EQ(s.keep_days, 14);
    EXPECT_TRUE(load_scenario("demo", {"b.json", R"({"work": []})"}).work.empty());
    try {
        load_scenario("demo", {"b.json", R"({"dais": 3})"});
        FAIL();
    } catch (const json::InputError& e) {
        EXPECT_THAT(e.what(), AllOf(HasSubstr("b.json"), HasSubstr("dais")));
    }
}

TEST(Scenario, ConfigXmlOptionsAreTakenAsTheyAre) {
    const Scenario s =
        parse_scenario(json::parse(R"({"work": [], "config": {"mm_min_slots": 30, "long_name": "A name"}})", "test"));
    EXPECT_THAT(s.config_xml, HasSubstr("<mm_min_slots>30</mm_min_slots>"));
    EXPECT_THAT(s.config_xml, HasSubstr("<long_name>A name</long_name>"));
}

}  // namespace
}  // namespace sluice::sim
