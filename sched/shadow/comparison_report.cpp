// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/shadow/comparison_report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>

#include "sluice/base/text.h"
#include "sluice/svg/charts.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

std::string moment(double time) {
    return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(time)));
}

std::string kinds_text(const RpcOutcome& outcome) {
    std::string text;
    for (const auto& [kind, n] : outcome.kinds)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, in_one_line(kind));
    return text.empty() ? outcome.word : text;
}

std::string explained(const DifferenceGroup& g) { return g.row.empty() ? "not explained" : "compat.md: " + g.row; }

std::string group_text(const DifferenceGroup& g) {
    std::string text = fmt::format("{:>7}  {} -> {}  (jobs {} -> {})\n         {}\n", g.count, g.theirs, g.ours,
                                   g.their_jobs, g.our_jobs, explained(g));
    for (const ComparedRpc& e : g.examples) {
        text += fmt::format("         HOST#{} {}: {} -> {}{}\n", e.hostid, moment(e.at), kinds_text(e.theirs),
                            kinds_text(e.ours), e.depends_on_start ? " (another scan decides otherwise)" : "");
        text += "           " + in_one_line(e.file) + "\n";
        if (!e.theirs_said.empty()) text += "           theirs said: " + in_one_line(e.theirs_said, 300) + "\n";
        if (!e.ours_said.empty()) text += "           ours says: " + in_one_line(e.ours_said, 300) + "\n";
    }
    return text;
}

template <class Number>
std::set<std::string> keys_of(const std::map<std::string, Number>& a, const std::map<std::string, Number>& b) {
    std::set<std::string> keys;
    for (const auto* side : {&a, &b})
        for (const auto& [key, n] : *side) keys.insert(key);
    return keys;
}

template <class Number>
Number of(const std::map<std::string, Number>& counts, const std::string& key) {
    const auto found = counts.find(key);
    return found != counts.end() ? found->second : 0;
}

constexpr std::size_t kMostLines = 40;

template <class Number>
std::string two_columns(const char* title, const std::map<std::string, Number>& theirs,
                        const std::map<std::string, Number>& ours) {
    std::string text;
    std::size_t lines = 0;
    for (const std::string& key : keys_of(theirs, ours)) {
        if (lines++ == kMostLines) return text + "  ... (--json has all)\n";
        text += fmt::format("  {:>9} {:>9}  {}\n", of(theirs, key), of(ours, key), in_one_line(key));
    }
    return text.empty() ? "" : fmt::format("\n{}\n", title) + text;
}

Json side_json(const SideCount& s) {
    return {{"jobs", s.jobs},
            {"requests_with_jobs", s.requests_with_jobs},
            {"empty", s.empty},
            {"by_app", s.by_app},
            {"by_host_class", s.by_class}};
}

Json example_json(const ComparedRpc& e) {
    return {{"time", e.at},
            {"file", e.file},
            {"host", e.hostid},
            {"host_class", e.host_class},
            {"theirs", {{"reason", e.theirs.word}, {"jobs", e.theirs.kinds}, {"said", e.theirs_said}}},
            {"ours", {{"reason", e.ours.word}, {"jobs", e.ours.kinds}, {"said", e.ours_said}}},
            {"depends_on_scan_start", e.depends_on_start}};
}

}  // namespace

Latencies latencies_of(std::vector<double> ms) {
    if (ms.empty()) return {};
    std::sort(ms.begin(), ms.end());
    const auto at = [&](double part) {
        return ms[std::min(ms.size() - 1, static_cast<std::size_t>(part * static_cast<double>(ms.size())))];
    };
    return {at(0.5), at(0.95), ms.back()};
}

namespace {

std::string latencies_text(const Latencies& l) {
    return fmt::format("median {:.2f} ms, 95 % within {:.2f} ms, most {:.2f} ms\n", l.median, l.p95, l.most);
}

Json latencies_json(const Latencies& l) { return {{"median", l.median}, {"p95", l.p95}, {"max", l.most}}; }

std::string live_text(const LiveCounts& live) {
    std::string text = fmt::format("looked for {:.0f} s: {} decided on the state of the moment when they came",
                                   live.lasted, live.at_once);
    if (live.later > 0) text += fmt::format(", {} on that of a moment later", live.later);
    if (live.failed > 0) text += fmt::format(", {} not, for the database did not answer", live.failed);
    if (live.given_up > 0) text += fmt::format(", {} whose scheduler did not end", live.given_up);
    if (live.refused > 0) text += fmt::format(", {} shown by something else than the tee", live.refused);
    if (live.full_for > 0) text += fmt::format("; for {:.0f} s there was no room for more", live.full_for);
    return text + "\n";
}

Json live_json(const Comparison& c) {
    const LiveCounts& live = c.live;
    return {{"seconds", live.lasted},        {"at_once", live.at_once},
            {"later", live.later},           {"database_failed", live.failed},
            {"given_up", live.given_up},     {"refused", live.refused},
            {"full_seconds", live.full_for}, {"their_process_ms", latencies_json(latencies_of(c.their_ms))}};
}

}  // namespace

std::string comparison_text(const Comparison& c) {
    std::string text = fmt::format("{} -> {}\n", c.theirs_name, c.ours_name);
    for (const std::string& note : c.notes) text += "note: " + in_one_line(note, 1000) + "\n";
    text += fmt::format("requests: {} ({} compared", c.requests, c.compared);
    if (c.without_reply > 0) text += fmt::format(", {} without a reply", c.without_reply);
    if (c.unreadable > 0) text += fmt::format(", {} can't be read", c.unreadable);
    if (c.not_judged > 0) text += fmt::format(", {} too_recent: not judged", c.not_judged);
    if (c.dropped > 0) text += fmt::format(", {} older ones dropped", c.dropped);
    text += ")\n";
    if (c.live.is_live) text += live_text(c.live);
    if (c.compared > 0) text += "from " + moment(c.first) + " to " + moment(c.last) + "\n";
    text += "jobs to choose from: " + c.jobs_from + ", and the jobs that the replies sent\n";
    const Latencies l = latencies_of(c.ms);
    text += "time of a decision: " + latencies_text(l);
    if (c.live.is_live) text += "time of their scheduler's process: " + latencies_text(latencies_of(c.their_ms));
    text += fmt::format("the same: {} of {}\n\n", c.same, c.compared);
    text += c.groups.empty() ? "No difference.\n" : "Differences (requests, theirs -> ours):\n";
    for (const DifferenceGroup& g : c.groups) text += group_text(g);
    text += fmt::format("\nTheirs, and ours:\n  {:>9} {:>9}  jobs\n  {:>9} {:>9}  requests that get jobs\n",
                        c.theirs.jobs, c.ours.jobs, c.theirs.requests_with_jobs, c.ours.requests_with_jobs);
    text += two_columns("Requests for work that get none, by reason:", c.theirs.empty, c.ours.empty);
    text += two_columns("Jobs by application:", c.theirs.by_app, c.ours.by_app);
    return text + two_columns("Jobs by class of host:", c.theirs.by_class, c.ours.by_class);
}

std::string comparison_json(const Comparison& c) {
    Json j;
    j["theirs_name"] = c.theirs_name;
    j["ours_name"] = c.ours_name;
    j["level"] = c.level;
    j["jobs_from"] = c.jobs_from;
    j["requests"] = {{"all", c.requests},
                     {"compared", c.compared},
                     {"same", c.same},
                     {"different", c.compared - c.same},
                     {"without_reply", c.without_reply},
                     {"unreadable", c.unreadable},
                     {"too_recent", c.not_judged},
                     {"dropped", c.dropped}};
    j["first"] = c.first;
    j["last"] = c.last;
    j["decision_ms"] = latencies_json(latencies_of(c.ms));
    if (c.live.is_live) j["live"] = live_json(c);
    j["theirs"] = side_json(c.theirs);
    j["ours"] = side_json(c.ours);
    j["differences"] = Json::array();
    for (const DifferenceGroup& g : c.groups) {
        Json group{{"theirs", g.theirs},     {"ours", g.ours},
                   {"count", g.count},       {"their_jobs", g.their_jobs},
                   {"our_jobs", g.our_jobs}, {"compat_row", g.row.empty() ? Json() : Json(g.row)}};
        group["examples"] = Json::array();
        for (const ComparedRpc& e : g.examples) group["examples"].push_back(example_json(e));
        j["differences"].push_back(std::move(group));
    }
    j["notes"] = c.notes;
    return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

constexpr const char* kStyle =
    R"(main { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 12px; }
table { border-collapse: collapse; margin: 8px 0; }
td, th { border: 1px solid #ddd; padding: 2px 8px; text-align: left; vertical-align: top; }
td.n { text-align: right; }
@media (prefers-color-scheme: dark) {
body { color: #ddd; background: #181818; }
svg { fill: #ddd; border-color: #444; }
svg .grid { stroke: #444; }
svg .none { fill: #aaa; }
td, th { border-color: #444; }
}
)";

std::string row(const std::string& a, const std::string& b, const std::string& c) {
    return "<tr><td class=\"n\">" + a + "</td><td class=\"n\">" + b + "</td><td>" + c + "</td></tr>\n";
}

std::string groups_table(const Comparison& c) {
    if (c.groups.empty()) return "<p>No difference.</p>\n";
    std::string out =
        "<table><tr><th>requests</th><th>theirs</th><th>ours</th><th>jobs</th><th>why</th><th>examples</th></tr>\n";
    for (const DifferenceGroup& g : c.groups) {
        out += fmt::format(
            "<tr><td class=\"n\">{}</td><td>{}</td><td>{}</td><td class=\"n\">{} → {}</td><td>{}</td><td>", g.count,
            xml_escape(g.theirs), xml_escape(g.ours), g.their_jobs, g.our_jobs, xml_escape(explained(g)));
        for (const ComparedRpc& e : g.examples)
            out += fmt::format("HOST#{}, {}: {} → {}<br>", e.hostid, moment(e.at), xml_escape(kinds_text(e.theirs)),
                               xml_escape(kinds_text(e.ours)));
        out += "</td></tr>\n";
    }
    return out + "</table>\n";
}

template <class Number>
svg::Bars bars_of(const std::map<std::string, Number>& theirs, const std::map<std::string, Number>& ours) {
    constexpr std::size_t kMostGroups = 12;
    svg::Bars bars;
    bars.names = {"theirs", "ours"};
    for (const std::string& key : keys_of(theirs, ours)) {
        if (bars.groups.size() == kMostGroups) break;
        bars.groups.push_back(key);
        bars.values.push_back({static_cast<double>(of(theirs, key)), static_cast<double>(of(ours, key))});
    }
    return bars;
}

std::string jobs_over_time(const Comparison& c) {
    std::vector<svg::Series> series{{"theirs", {}, false, 0}, {"ours", {}, false, 1}};
    for (const auto& [hour, jobs] : c.jobs_by_time) {
        const double x = static_cast<double>(hour - c.jobs_by_time.begin()->first) / 3600;
        series[0].points.emplace_back(x, static_cast<double>(jobs.first));
        series[1].points.emplace_back(x, static_cast<double>(jobs.second));
    }
    return svg::line_chart({"Jobs sent", "hour", "jobs in the hour"}, series);
}

/// Part of the requests, and how long they took at most.
svg::Series latency_series(const char* name, std::vector<double> ms, std::size_t colour) {
    std::sort(ms.begin(), ms.end());
    svg::Series series{name, {}, false, colour};
    constexpr std::size_t kPoints = 100;
    for (std::size_t i = 0; i <= kPoints && !ms.empty(); ++i)
        series.points.emplace_back(static_cast<double>(i), ms[i * (ms.size() - 1) / kPoints]);
    return series;
}

std::string latency_chart(const Comparison& c) {
    std::vector<svg::Series> series{latency_series("ours", c.ms, 1)};
    if (c.live.is_live) series.push_back(latency_series("theirs: the whole process", c.their_ms, 0));
    return svg::line_chart({"Time of a decision", "% of requests", "ms, at most"}, series);
}

}  // namespace

std::string comparison_html(const Comparison& c) {
    std::string out = svg::page_head("Sluice beside another scheduler", kStyle,
                                     "<meta name=\"color-scheme\" content=\"light dark\">\n");
    out += "<h1>" + xml_escape(c.theirs_name + " → " + c.ours_name) + "</h1>\n";
    out += fmt::format("<p>{} requests, {} compared, {} the same; from {} to {}. Jobs to choose from: {}.</p>\n",
                       c.requests, c.compared, c.same, moment(c.first), moment(c.last), xml_escape(c.jobs_from));
    if (c.live.is_live) out += "<p>Live: " + live_text(c.live) + "</p>\n";
    for (const std::string& note : c.notes) out += "<p>Note: " + xml_escape(note) + "</p>\n";
    out += "<h2>Differences</h2>\n" + groups_table(c);
    out += "<table><tr><th>theirs</th><th>ours</th><th></th></tr>\n";
    out += row(std::to_string(c.theirs.jobs), std::to_string(c.ours.jobs), "jobs");
    out += row(std::to_string(c.theirs.requests_with_jobs), std::to_string(c.ours.requests_with_jobs),
               "requests that get jobs");
    out += "</table>\n<main>\n" + jobs_over_time(c) + latency_chart(c);
    out += svg::bar_chart({"Requests for work that get none", "reason", "requests"},
                          bars_of(c.theirs.empty, c.ours.empty));
    out += svg::bar_chart({"Jobs by application", "application", "jobs"}, bars_of(c.theirs.by_app, c.ours.by_app));
    out += svg::bar_chart({"Jobs by class of host", "class", "jobs"}, bars_of(c.theirs.by_class, c.ours.by_class));
    return out + "</main>\n</body>\n</html>\n";
}

}  // namespace sluice
