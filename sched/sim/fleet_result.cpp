// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/fleet_result.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace sluice::sim {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Spread& s) { return {{"p50", s.p50}, {"p95", s.p95}, {"max", s.max}}; }

Json details_of(const FleetResult& r) {
    Json waits = Json::object();
    for (const auto& [name, w] : r.waits_by_size_class) waits[name] = Json::array({w.p50, w.p95, w.max});
    Json shares = Json::array();
    for (const ShareOnDay& s : r.shares_over_time)
        shares.push_back({{"day", s.day}, {"user", s.user}, {"share", s.share}, {"ideal", s.ideal}});
    return {{"hosts", r.hosts},
            {"measured_from_day", r.measured_from_day},
            {"useful_core_hours", r.useful_core_hours},
            {"requests", r.requests},
            {"work_requests", r.work_requests},
            {"batches_open", r.batches_open},
            {"makespans_hours", r.makespans_hours},
            {"throughput_by_day", r.throughput_by_day},
            {"waits_by_size_class", waits},
            {"host_classes", r.host_classes},
            {"job_classes", r.job_classes},
            {"host_class_by_job_class", r.host_class_by_job_class},
            {"shares_over_time", shares},
            {"deadline_misses_by_day", r.deadline_misses_by_day},
            {"wasted_by_day", r.wasted_by_day},
            {"empty_by_day", r.empty_by_day},
            {"statements_per_request", r.statements_per_request},
            {"bounds",
             {{"idle_fleet_hours", r.bounds.idle_fleet_hours}, {"real_contacts_hours", r.bounds.real_contacts_hours}}},
            {"more", r.more}};
}

}  // namespace

Spread spread_of(std::vector<double> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    const auto at = [&](double part) {
        const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(values.size())));
        return values[std::max<std::size_t>(rank, 1) - 1];
    };
    return {at(0.5), at(0.95), values.back(), values.size()};
}

std::string to_json(const FleetResult& r) {
    Json all = {{"scenario", r.scenario},
                {"seed", r.seed},
                {"simulated_seconds", r.simulated_seconds},
                {"jobs",
                 {{"submitted", r.jobs_submitted},
                  {"done", r.jobs_done},
                  {"missed", r.jobs_missed},
                  {"errors", r.jobs_errors}}},
                {"instances_per_job", r.instances_per_job},
                {"wasted_core_hours", r.wasted_core_hours},
                {"throughput_per_day", r.throughput_per_day},
                {"empty_replies", r.empty_replies},
                {"makespan_hours", json_of(r.makespan_hours)},
                {"in_band", r.in_band},
                {"share_error", r.share_error},
                {"details", details_of(r)}};
    return all.dump(1) + "\n";
}

}  // namespace sluice::sim
