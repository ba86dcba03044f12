// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Comparing what `sluice_sim client` and the real client make of a state.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace sluice::test {

/// Within 5 % or 10 seconds, whichever is more.
inline bool near_seconds(double ours, double real, double drift = 0) {
    return std::abs(ours - real) <= std::max(10.0, 0.05 * std::abs(real)) + drift;
}

template <class Json>
struct Difference {
    std::string place;
    Json ours, real;
};

/// Where `ours` (the result of sluice_sim client) and `real` (PolicyClient::said) differ. `drift`: instance-seconds
/// that lie between the two.
template <class Json>
std::vector<Difference<Json>> differences(const Json& ours, const Json& real, double drift = 0) {
    std::vector<Difference<Json>> found;
    const auto note = [&](const std::string& place, const Json& a, const Json& b) { found.push_back({place, a, b}); };
    const auto seconds = [&](const std::string& place, const Json& a, const Json& b) {
        if (!near_seconds(a, b, drift)) note(place, a, b);
    };
    const auto count = [&](const std::string& place, const Json& a, const Json& b) {
        if (std::abs(a.template get<double>() - b.template get<double>()) > 0.01) note(place, a, b);
    };
    for (const auto& [type, f] : real["wrr"].items()) {
        seconds(type + " shortfall", ours["wrr"][type]["shortfall"], f["shortfall"]);
        seconds(type + " saturated", ours["wrr"][type]["saturated"], f["saturated"]);
        count(type + " idle_instances", ours["wrr"][type]["idle_instances"], f["idle_instances"]);
        seconds(type + " busy", ours["edf"][type]["busy"], real["edf"][type]["busy"]);
    }
    if (ours["deadline_miss"] != real["deadline_miss"])
        note("deadline_miss", ours["deadline_miss"], real["deadline_miss"]);
    if (ours["run"] != real["run"]) note("run", ours["run"], real["run"]);
    const Json &mine = ours["fetch"], &asked = real["fetch"];
    if (mine.is_null() || asked.is_null()) {
        if (mine.is_null() != asked.is_null()) note("fetch", mine, asked);
        return found;
    }
    if (mine["project"] != asked["project"]) note("fetch.project", mine["project"], asked["project"]);
    double most = 0;
    for (const auto& [type, f] : ours["wrr"].items()) {
        if (mine["types"].contains(type) != asked["types"].contains(type)) {
            note("fetch.types", mine["types"], asked["types"]);
        } else if (mine["types"].contains(type)) {
            const Json &a = mine["types"][type], &b = asked["types"][type];
            seconds("fetch " + type + " seconds", a["seconds"], b["seconds"]);
            count("fetch " + type + " instances", a["instances"], b["instances"]);
            seconds("estimated_delay of " + type, ours["edf"][type]["busy"], b["estimated_delay"]);
            most = std::max(most, a["seconds"].template get<double>());
        }
    }
    seconds("work_req_seconds", most, asked["work_req_seconds"]);
    return found;
}

/// The differences that no exception of the state ({"place", "real": [values], "why"}) explains, and the exceptions
/// with one value only that do not hold any more; one line each.
template <class Json>
std::vector<std::string> unexplained(const Json& entry, const std::vector<Difference<Json>>& found) {
    std::vector<std::string> lines;
    const Json none = Json::array();
    const Json& exceptions = entry.contains("exceptions") ? entry["exceptions"] : none;
    const auto is = [](const Json& a, const Json& b) { return a.is_number() ? near_seconds(a, b) : a == b; };
    for (const auto& d : found) {
        bool explained = false;
        for (const Json& e : exceptions)
            for (const Json& value : e["real"]) explained |= e["place"] == d.place && is(value, d.real);
        if (!explained) lines.push_back(d.place + ": " + d.ours.dump() + ", the client " + d.real.dump());
    }
    for (const Json& e : exceptions) {
        bool seen = e["real"].size() > 1;
        for (const auto& d : found) seen |= e["place"] == d.place;
        if (!seen) lines.push_back(e["place"].template get<std::string>() + ": the exception does not hold any more");
    }
    return lines;
}

}  // namespace sluice::test
