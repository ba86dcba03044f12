// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/fleet_result.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "sluice/base/text.h"
#include "sluice/svg/charts.h"

namespace sluice::sim {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Distribution& s) { return {{"p50", s.p50}, {"p95", s.p95}, {"max", s.max}}; }

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

Distribution spread_of(std::vector<double> values) {
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

namespace {

using namespace svg;

constexpr const char* kStyle =
    R"(dl { display: grid; grid-template-columns: repeat(4, 1fr); gap: 8px 16px; margin: 12px 0; }
dt { color: #555; font-size: 13px; }
dd { margin: 0; font-size: 18px; overflow-wrap: anywhere; }
main { display: grid; grid-template-columns: repeat(auto-fit, minmax(560px, 1fr)); gap: 14px; }
)";

std::string shown(double value, const char* format = "%.4g") {
    char text[40];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

std::string figure(const std::string& name, const std::string& value) {
    return "<div><dt>" + xml_escape(name) + "</dt><dd>" + xml_escape(value) + "</dd></div>\n";
}

std::string percent(double part) { return shown(100 * part, "%.1f") + " %"; }

std::string head_figures(const FleetResult& r) {
    std::string out = "<dl>\n";
    out += figure("jobs submitted", std::to_string(r.jobs_submitted));
    out += figure("done", std::to_string(r.jobs_done));
    out += figure("deadlines missed", std::to_string(r.jobs_missed));
    out += figure("given up", std::to_string(r.jobs_errors));
    out += figure("instances per job", shown(r.instances_per_job));
    out += figure("wasted core-hours", shown(r.wasted_core_hours));
    out += figure("jobs done a day", shown(r.throughput_per_day));
    out += figure("requests for work answered empty",
                  std::to_string(r.empty_replies) + " of " + std::to_string(r.work_requests));
    out +=
        figure("makespan of batches, hours: p50 / p95 / max",
               shown(r.makespan_hours.p50) + " / " + shown(r.makespan_hours.p95) + " / " + shown(r.makespan_hours.max));
    out += figure("batches not finished", std::to_string(r.batches_open));
    out += figure("results of the intended length", percent(r.in_band));
    out += figure("largest error of a share in 30 days", percent(r.share_error));
    out += figure("statements per request", shown(r.statements_per_request));
    for (const auto& [name, value] : r.more) out += figure(name, shown(value));
    return out + "</dl>\n";
}

/// Which part of the values is at most so large.
Series distribution(const std::string& name, std::vector<double> values, std::size_t colour) {
    Series s{name, {}, false, colour};
    std::sort(values.begin(), values.end());
    double below = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        s.points.emplace_back(values[i], below);
        below = 100 * static_cast<double>(i + 1) / static_cast<double>(values.size());
        s.points.emplace_back(values[i], below);
    }
    return s;
}

template <class Value>
Bars by_day(const std::vector<Value>& values) {
    Bars bars;
    bars.names = {""};
    for (std::size_t d = 0; d < values.size(); ++d) {
        bars.groups.push_back(std::to_string(d));
        bars.values.push_back({static_cast<double>(values[d])});
    }
    return bars;
}

std::string makespans(const FleetResult& r) {
    std::vector<Series> series;
    for (const auto& [name, values] :
         {std::pair("fleet", &r.makespans_hours), std::pair("bound: real contacts", &r.bounds.real_contacts_hours),
          std::pair("bound: idle fleet", &r.bounds.idle_fleet_hours)})
        if (!values->empty()) series.push_back(distribution(name, *values, series.size()));
    return line_chart({"Makespan of batches", "hours from submission to the last job", "batches done by then, %"},
                      series);
}

std::string waits(const FleetResult& r) {
    Bars bars;
    bars.names = {"median", "95 %", "longest"};
    for (const auto& [name, spread] : r.waits_by_size_class) {
        bars.groups.push_back(name);
        bars.values.push_back({spread.p50, spread.p95, spread.max});
    }
    return bar_chart({"Wait until sent", "size class", "hours"}, bars);
}

std::string classes(const FleetResult& r) {
    HeatMapCells cells{r.host_classes, r.job_classes, {}};
    for (const auto& row : r.host_class_by_job_class) cells.values.emplace_back(row.begin(), row.end());
    return heat_map({"Jobs sent, by class of host and job", "class of the job", "class of the host"}, cells);
}

/// Each user's share, and dashed what it should have been; the users of the largest shares if there are many.
std::string shares(const FleetResult& r) {
    constexpr std::size_t kMostUsers = 6;
    std::map<std::string, double> total;
    for (const ShareOnDay& s : r.shares_over_time) total[s.user] += s.share;
    std::vector<std::pair<double, std::string>> order;
    for (const auto& [user, sum] : total) order.emplace_back(-sum, user);
    std::sort(order.begin(), order.end());
    if (order.size() > kMostUsers) order.resize(kMostUsers);
    std::vector<Series> series;
    for (std::size_t u = 0; u < order.size(); ++u) {
        Series got{order[u].second, {}, false, u}, ideal{"", {}, true, u};
        for (const ShareOnDay& s : r.shares_over_time) {
            if (s.user != got.name) continue;
            got.points.emplace_back(s.day, 100 * s.share);
            ideal.points.emplace_back(s.day, 100 * s.ideal);
        }
        series.push_back(std::move(got));
        series.push_back(std::move(ideal));
    }
    return line_chart({"Shares of users (dashed: fluid ideal)", "day", "part of the work, %"}, series);
}

std::string statements(const FleetResult& r) {
    return bar_chart({"Database statements", "kind of request", "statements a request"},
                     {{"scheduler RPC"}, {""}, {{r.statements_per_request}}});
}

}  // namespace

std::string report_html(const FleetResult& r) {
    std::string out = page_head("Report of a simulated fleet", kStyle);
    out += "<h1>" + xml_escape(r.scenario) + "</h1>\n<p>" + std::to_string(r.hosts) + " hosts, " +
           shown(r.simulated_seconds / 86400) + " days, seed " + std::to_string(r.seed) +
           "; the figures count what was submitted from day " + std::to_string(r.measured_from_day) + " on.</p>\n";
    out += head_figures(r) + "<main>\n";
    out += makespans(r);
    out += svg::bar_chart({"Throughput", "day", "jobs done"}, by_day(r.throughput_by_day));
    out += waits(r) + classes(r) + shares(r);
    out += svg::bar_chart({"Deadlines missed", "day", "instances"}, by_day(r.deadline_misses_by_day));
    out += svg::bar_chart({"Wasted work", "day", "core-hours"}, by_day(r.wasted_by_day));
    out += svg::bar_chart({"Requests for work answered empty", "day", "requests"}, by_day(r.empty_by_day));
    return out + statements(r) + "</main>\n</body>\n</html>\n";
}

}  // namespace sluice::sim
