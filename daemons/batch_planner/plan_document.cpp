// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch_planner/plan_document.h"

#include <nlohmann/json.hpp>
#include <set>

#include "daemons/batch_planner/fleet_plan.h"

namespace sluice {

using Json = nlohmann::ordered_json;

std::string plan_document(const json::Object& document) {
    document.only({"hosts", "jobs", "min_hosts"});
    std::vector<PlanHost> hosts;
    std::vector<std::string> ids;
    std::set<std::string> seen;
    for (const json::Object& h : document.objects("hosts")) {
        h.only({"id", "cpus", "delay", "job_seconds"});
        hosts.push_back(
            {h.whole("cpus", 1, 1'000'000), h.number("delay", {0, 1e12}), h.number("job_seconds", {1e-6, 1e12})});
        ids.push_back(h.scalar("id"));
        if (!seen.insert(ids.back()).second) throw json::InputError(h.place("id"), ids.back() + " stands twice");
    }
    const auto jobs = document.whole("jobs", 0, 1'000'000'000'000);
    const auto min_hosts = document.has("min_hosts") ? document.whole("min_hosts", 0, 1'000'000'000) : 0;
    const FleetPlan plan = plan_fleet(hosts, jobs, static_cast<std::size_t>(min_hosts));
    Json chosen = Json::array();
    for (std::size_t i = 0; i < hosts.size(); ++i)
        if (plan.jobs[i] > 0) chosen.push_back({{"id", Json::parse(ids[i])}, {"jobs", plan.jobs[i]}});
    return Json{{"T", plan.possible ? Json(plan.finish) : Json()}, {"hosts", std::move(chosen)}}.dump(2) + "\n";
}

}  // namespace sluice
