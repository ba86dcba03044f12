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
    for (const BuiltIn& b : built_in_scenarios()) EXPECT_EQ(load_scenario(b.name).name, b.name);
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
    EXPECT_EQ(complaint(R"({"work": []})"), "");
}

TEST(Scenario, OptionsOfConfigXmlAreTakenAsTheyAre) {
    const Scenario s =
        parse_scenario(json::parse(R"({"work": [], "config": {"mm_min_slots": 30, "long_name": "A name"}})", "test"));
    EXPECT_THAT(s.config_xml, HasSubstr("<mm_min_slots>30</mm_min_slots>"));
    EXPECT_THAT(s.config_xml, HasSubstr("<long_name>A name</long_name>"));
}

}  // namespace
}  // namespace sluice::sim
