// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/client_state_file.h"

#include "sluice/base/text.h"

namespace sluice {
namespace {

const char* const kState = R"({"now": 1000, "work_buf_min": 100, "work_buf_additional": 100, "rules": "seed",
    "resources": [{"type": "CPU", "instances": 2}, {"type": "NVIDIA", "instances": 1}],
    "projects": [{"name": "a", "resource_share": 100, "rec": 3, "fetchable": true, "backoff": {"NVIDIA": 5000}},
                 {"name": "b", "resource_share": 100, "rec": 1}],
    "jobs": [{"name": "j1", "project": "a", "type": "CPU", "instances": 1, "remaining": 50, "deadline": 1040},
             {"name": "j2", "project": "b", "type": "NVIDIA", "instances": 1, "cpus": 0.5, "remaining": 30,
              "deadline": 90000, "started": true}]})";

std::string decisions(std::string text, std::string_view from = "", std::string_view to = "") {
    if (!from.empty()) {
        EXPECT_NE(text.find(from), std::string::npos) << from;
        replace_all(text, from, to);
    }
    try {
        return client_decisions(read_client_json(json::parse(text, "file")));
    } catch (const json::InputError& e) {
        return e.what();
    }
}

TEST(ClientDocument, PrintsEveryDecision) {
    const json::Object d = json::parse(decisions(kState), "result");
    EXPECT_EQ(d.names(), (std::vector<std::string>{"wrr", "deadline_miss", "edf", "priority", "run", "fetch"}));
    EXPECT_EQ(d.object("wrr").object("CPU").number("shortfall"), 30 * 0.5 + 20 * 1 + 150 * 2);
    EXPECT_EQ(d.object("wrr").object("CPU").number("idle_instances"), 0.5);
    EXPECT_EQ(d.object("wrr").object("NVIDIA").number("saturated"), 30);
    EXPECT_EQ(d.object("edf").object("CPU").number("busy"), 0);
    EXPECT_EQ(d.object("priority").number("a"), -1.5);
    EXPECT_EQ(d.object("fetch").text("project"), "b");
    EXPECT_EQ(d.object("fetch").object("types").object("NVIDIA").number("seconds"), 170);
    EXPECT_NE(decisions(kState).find("\"deadline_miss\": [\n    \"j1\"\n  ]"), std::string::npos);
    EXPECT_NE(decisions(kState).find("\"run\": [\n    \"j1\",\n    \"j2\"\n  ]"), std::string::npos)
        << decisions(kState);
}

TEST(ClientDocument, NothingToFetchIsNull) {
    const std::string text = decisions(kState, "\"work_buf_min\": 100", "\"work_buf_min\": 0");
    EXPECT_NE(text.find("\"fetch\": null"), std::string::npos) << text;
}

TEST(ClientDocument, WrongInputIsNamedByItsPlace) {
    const std::tuple<const char*, const char*, const char*> cases[] = {
        {"\"remaining\": 50", "\"remaining\": -50", "jobs[0].remaining: -50 must not be negative"},
        {"\"remaining\": 50", "\"remain\": 50",
         "jobs[0].remain: unknown field (known here: name, project, type, instances, "
         "cpus, remaining, deadline, started)"},
        {"\"project\": \"b\"", "\"project\": \"c\"", "jobs[1].project: there is no project \"c\""},
        {"\"type\": \"CPU\", \"instances\": 1,", "\"type\": \"TPU\", \"instances\": 1,",
         "jobs[0].type: there is no resource \"TPU\""},
        {"{\"NVIDIA\": 5000}", "{\"ATI\": 5000}", "projects[0].backoff.ATI: there is no resource \"ATI\""},
        {"\"j2\"", "\"j1\"", "jobs[1].name: there are two jobs \"j1\""},
        {"\"instances\": 2", "\"instances\": 0", "resources[0].instances: 0 must be at least 1"},
        {"\"seed\"", "\"client7\"", "rules: must be \"client\" or \"seed\""},
        {"\"now\": 1000,", "", "now: is missing"},
        {"\"now\": 1000,", "\"now\": 1000, \"on_frac\": 0,", "on_frac: 0 must be at least 1e-06"},
        {"\"rec\": 3", "\"rec\": -3", "projects[0].rec: -3 must not be negative"},
        {"\"rec\": 3", "\"rec\": 1e308", "projects[0].rec: 1e+308 must be at most 1e+100"},
    };
    for (const auto& [from, to, says] : cases) EXPECT_EQ(decisions(kState, from, to), says);
}

}  // namespace
}  // namespace sluice
