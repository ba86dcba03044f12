// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/fleet_plan.h"

namespace sluice {
namespace {

std::string plan(const std::string& text) {
    try {
        return plan_document(json::parse(text, "file"));
    } catch (const json::InputError& e) {
        return e.what();
    }
}

TEST(PlanDocument, PrintsTimeAndHostsOfH) {
    EXPECT_EQ(plan(R"({"hosts": [{"id": 7, "cpus": 2, "delay": 10, "job_seconds": 5},
                                 {"id": "slow", "cpus": 1, "delay": 0, "job_seconds": 100}], "jobs": 3})"),
              R"({
  "T": 20.0,
  "hosts": [
    {
      "id": 7,
      "jobs": 4
    }
  ]
}
)");
}

TEST(PlanDocument, NoHostNoTime) {
    EXPECT_EQ(plan(R"({"hosts": [], "jobs": 1})"), "{\n  \"T\": null,\n  \"hosts\": []\n}\n");
}

TEST(PlanDocument, WrongInputIsNamedByItsPlace) {
    const std::string host = R"({"id": 1, "cpus": 1, "delay": 0, "job_seconds": 5})";
    const std::pair<std::string, std::string> cases[] = {
        {R"({"hosts": [)" + host + R"(], "jobs": -1})", "jobs: -1 must not be negative"},
        {R"({"hosts": [)" + host + R"(], "jobs": 1.5})", "jobs: 1.5 must be a whole number"},
        {R"({"hosts": [)" + host + "," + host + R"(], "jobs": 1})", "hosts[1].id: 1 stands twice"},
        {R"({"hosts": [{"id": 1, "cpus": 0, "delay": 0, "job_seconds": 5}], "jobs": 1})",
         "hosts[0].cpus: 0 must be at least 1"},
        {R"({"hosts": [{"id": 1, "cpus": 1, "delay": -2, "job_seconds": 5}], "jobs": 1})",
         "hosts[0].delay: -2 must not be negative"},
        {R"({"hosts": [{"id": 1, "cpus": 1, "delay": 0, "job_seconds": 0}], "jobs": 1})",
         "hosts[0].job_seconds: 0 must be at least 1e-06"},
        {R"({"hosts": [{"id": 1, "cpus": 1, "delay": 0}], "jobs": 1})", "hosts[0].job_seconds: is missing"},
        {R"({"hosts": [], "jobs": 1, "user": 2})", "user: unknown field (known here: hosts, jobs, min_hosts)"},
    };
    for (const auto& [text, says] : cases) EXPECT_EQ(plan(text), says) << text;
}

}  // namespace
}  // namespace sluice
