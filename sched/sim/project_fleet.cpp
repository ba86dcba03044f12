// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/project_fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "config/db_settings.h"
#include "config/load.h"
#include "sluice/base/error.h"
#include "sluice/model/host.h"

namespace sluice::sim {
namespace {

constexpr std::int64_t kHeardWithin = 30 * 86400;  ///< s
constexpr int kMostHosts = 1'000'000;
constexpr double kLongestBuffer = 10;  ///< days, in the client's settings

/// The habit whose part of the time is nearest.
const char* nearest_habit(double part_on) {
    if (part_on <= 0) return "";  // not measured yet
    return part_on > 0.65 ? "always" : part_on > 0.2 ? "daily" : "sporadic";
}

std::string cell(std::string text) {
    for (char& c : text)
        if (c == ',' || static_cast<unsigned char>(c) < ' ') c = ' ';
    return text;
}

/// What volunteers' clients say may be anything; a trace holds what machines have.
double gigabytes(double bytes) { return std::clamp(bytes / 1e9, 0.0, 1e6); }
constexpr double kLeastSpeed = 1e6, kMostSpeed = 1e12;  ///< flops per second and core

/// Most of the time between sending and report a job lies in the buffer: half of it is taken for the minimum.
std::string buffer(double turnaround) {
    if (turnaround <= 0) return ",";
    const double half = std::min(turnaround / 86400 / 2, kLongestBuffer);
    return fmt::format("{0:.3g},{0:.3g}", half);
}

template <typename Act>
auto with_store(const std::string& project, Act&& act) {
    const ProjectConfig config = load_config_and_warn(project);
    DbSettings settings = db_settings(config);
    settings.read_uncommitted = true;  // nobody has to wait for us
    Database db(settings);
    const auto store = make_fleet_store(db);
    return act(*store);
}

}  // namespace

std::string fleet_csv(FleetStore& store, std::int64_t now) {
    std::string lines;
    store.hosts(now - kHeardWithin, kMostHosts, [&](const Host& h) {
        if (!(h.p_fpops >= kLeastSpeed)) return;
        lines += fmt::format("{:.4g},{},{},{:.4g},{:.4g},{},{},{},{},{}\n", std::min(h.p_fpops, kMostSpeed) / 1e9,
                             std::max(1, h.p_ncpus), std::max(0, h.p_ngpus), gigabytes(h.m_nbytes), gigabytes(h.d_free),
                             nearest_habit(h.on_frac * h.active_frac), cell(h.os_name), cell(h.p_vendor),
                             cell(h.p_model), buffer(h.avg_turnaround));
    });
    if (lines.empty()) throw Error("the project has no host that was heard of in the last 30 days");
    return "speed,cores,gpus,memory_gb,disk_gb,habit,os,vendor,model,buffer_min_days,buffer_additional_days\n" + lines;
}

void take_apps(FleetStore& store, Scenario& scenario) {
    for (const App& app : store.apps()) {
        auto mine = std::find_if(scenario.apps.begin(), scenario.apps.end(),
                                 [&](const AppSpec& a) { return a.name == app.name; });
        if (mine == scenario.apps.end()) mine = scenario.apps.insert(mine, AppSpec{.name = app.name});
        mine->size_classes = app.n_size_classes;
        mine->homogeneous_redundancy = static_cast<int>(app.homogeneous_redundancy);
    }
}

std::string fleet_csv(const std::string& project) {
    return with_store(project, [](FleetStore& store) { return fleet_csv(store, std::time(nullptr)); });
}

void take_fleet(const std::string& project, Scenario& scenario) {
    with_store(project, [&](FleetStore& store) {
        scenario.fleet.trace = "hosts of " + project;
        scenario.fleet.trace_text = fleet_csv(store, std::time(nullptr));
        take_apps(store, scenario);
        return 0;
    });
}

}  // namespace sluice::sim
