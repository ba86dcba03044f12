// SPDX-License-Identifier: LGPL-3.0-or-later
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sched/tune/tuner.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

std::string bound(int slots) { return slots == 0 ? "-" : std::to_string(slots); }

std::string weights_line(const TunedWeights& tuned) {
    std::string text = "weights:";
    for (const auto& [name, value] : tuned.weights) text += fmt::format(" {} {:g},", name, value);
    if (tuned.weights.empty()) return "weights: as configured\n";
    return text + " others as configured\n";
}

std::string values_line(const TunedWeights& tuned) {
    std::string text = fmt::format("a full scan sends jobs of {:.2f} points on average; mean values:", tuned.score);
    for (const auto& [name, value] : tuned.values)
        if (value != 0) text += fmt::format(" {} {:.2f},", name, value);
    text.back() = '\n';
    return text;
}

constexpr const char* kLegend =
    "N, M: slots that a scan looks at, at least (if it has not found enough before) and at most; -: no bound. locked: slots that\n"
    "other requests held; over L: decisions with so many of them that the scheduler would warn. jobs: a reply (so many slots it\n"
    "would lock). score lost: points that a sent job is worth less than those of a full scan; bands lost: bands of the order of\n"
    "shares that it is behind them (these come before all points); empty: replies without a job;\n"
    "missed: of these, a full scan finds one. ms: time of a decision, its look-ups in the database included.\n";

std::string points_text(const TunedWeights& tuned) {
    std::string text = fmt::format("{:>7} {:>7} {:>10} {:>8} {:>7} {:>7} {:>11} {:>11} {:>6} {:>7} {:>8} {:>9}\n", "N",
                                   "M", "looked at", "locked", "over L", "jobs", "score lost", "bands lost", "empty",
                                   "missed", "look-ups", "ms median");
    for (const TunePoint& p : tuned.points)
        text += fmt::format(
            "{:>7} {:>7} {:>10.1f} {:>8.1f} {:>7} {:>7.2f} {:>11.2f} {:>11.2f} {:>6} {:>7} {:>8.2f} {:>9.3f}\n",
            bound(p.min_slots), bound(p.max_slots), p.looked_at, p.locked, p.over_limit, p.jobs, p.score_lost,
            p.bands_lost, p.empty, p.missed, p.look_ups, p.ms_median);
    return text;
}

Json point_json(const TunePoint& p) {
    return {{"min_slots", p.min_slots}, {"max_slots", p.max_slots},   {"decisions", p.decisions},
            {"looked_at", p.looked_at}, {"locked", p.locked},         {"over_limit", p.over_limit},
            {"jobs", p.jobs},           {"score_lost", p.score_lost}, {"bands_lost", p.bands_lost},
            {"empty", p.empty},         {"missed", p.missed},         {"look_ups", p.look_ups},
            {"ms_mean", p.ms_mean},     {"ms_median", p.ms_median}};
}

}  // namespace

std::string tune_text(const TuneReport& report) {
    std::string text;
    for (const std::string& note : report.notes) text += "note: " + note + "\n";
    text += fmt::format("array: {} slots, {} jobs, {} held by schedulers\n", report.slots, report.jobs, report.locked);
    text += fmt::format("requests: {}, {} of them decided at the same time; L: {}\n", report.requests, report.at_once,
                        report.limit);
    for (const auto& [search, count] : report.not_searched)
        text += fmt::format("  {} got no look at the array: {}. {}\n", count, search_info(search).name,
                            search_info(search).advice);
    for (const TunedWeights& tuned : report.weights)
        text += "\n" + weights_line(tuned) + values_line(tuned) + points_text(tuned);
    return text + "\n" + kLegend;
}

std::string tune_json(const TuneReport& report) {
    Json j;
    j["array"] = {{"slots", report.slots}, {"jobs", report.jobs}, {"locked", report.locked}};
    j["requests"] = report.requests;
    j["at_once"] = report.at_once;
    j["not_searched"] = Json::object();
    for (const auto& [search, count] : report.not_searched) j["not_searched"][search_info(search).name] = count;
    j["weights"] = Json::array();
    for (const TunedWeights& tuned : report.weights) {
        Json w;
        w["weights"] = tuned.weights;
        w["score"] = tuned.score;
        w["values"] = tuned.values;
        w["points"] = Json::array();
        for (const TunePoint& p : tuned.points) w["points"].push_back(point_json(p));
        j["weights"].push_back(std::move(w));
    }
    j["notes"] = report.notes;
    return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sluice
