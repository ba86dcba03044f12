// SPDX-License-Identifier: LGPL-3.0-or-later
// The same scenario under two configurations, on paired seeds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sched/sim/fleet.h"
#include "sched/sim/project_fleet.h"
#include "sched/sim/run_command.h"
#include "sched/sim/scenario.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"

namespace sluice::sim {
namespace {

struct Figure {
    const char* name;
    const char* unit;
    double (*of)(const FleetResult&);
    bool more_is_better;
};

constexpr Figure kFigures[] = {
    {"jobs done a day", "", [](const FleetResult& r) { return r.throughput_per_day; }, true},
    {"makespan p50", "h", [](const FleetResult& r) { return r.makespan_hours.p50; }, false},
    {"makespan p95", "h", [](const FleetResult& r) { return r.makespan_hours.p95; }, false},
    {"makespan max", "h", [](const FleetResult& r) { return r.makespan_hours.max; }, false},
    {"batches open at the end", "", [](const FleetResult& r) { return static_cast<double>(r.batches_open); }, false},
    {"instances a job", "", [](const FleetResult& r) { return r.instances_per_job; }, false},
    {"deadlines missed", "", [](const FleetResult& r) { return static_cast<double>(r.jobs_missed); }, false},
    {"jobs given up", "", [](const FleetResult& r) { return static_cast<double>(r.jobs_errors); }, false},
    {"core-hours wasted", "h", [](const FleetResult& r) { return r.wasted_core_hours; }, false},
    {"requests", "", [](const FleetResult& r) { return static_cast<double>(r.requests); }, false},
    {"requests answered empty", "", [](const FleetResult& r) { return static_cast<double>(r.empty_replies); }, false},
    {"store calls a request", "", [](const FleetResult& r) { return r.statements_per_request; }, false},
    {"run times in band", "%", [](const FleetResult& r) { return 100 * r.in_band; }, true},
    {"share error", "%", [](const FleetResult& r) { return 100 * r.share_error; }, false},
};

/// 97.5 % quantile of Student's t.
double student(std::size_t freedom) {
    constexpr double kTable[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23,
                                 2.20,  2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09, 2.09};
    return freedom == 0 ? INFINITY : freedom <= std::size(kTable) ? kTable[freedom - 1] : 1.98;
}

struct Row {
    const Figure* figure;
    double a, b, difference;
    double half;  ///< of the 95 % interval of the difference; infinite with one seed
    /// How many of its own uncertainties the difference is; infinite if every seed says exactly the same.
    double certainty() const { return half > 0 ? std::abs(difference) / half : difference != 0 ? INFINITY : 0; }
    double relative() const { return difference / std::max({std::abs(a), std::abs(b), 1e-12}); }
};

Row row_of(const Figure& figure, const std::vector<FleetResult>& a, const std::vector<FleetResult>& b) {
    const auto n = static_cast<double>(a.size());
    Row row{&figure, 0, 0, 0, 0};
    for (std::size_t i = 0; i < a.size(); ++i) row.a += figure.of(a[i]) / n, row.b += figure.of(b[i]) / n;
    row.difference = row.b - row.a;
    double squares = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double d = figure.of(b[i]) - figure.of(a[i]) - row.difference;
        squares += d * d;
    }
    row.half = a.size() < 2 ? INFINITY : student(a.size() - 1) * std::sqrt(squares / (n - 1) / n);
    return row;
}

std::string interval(const Row& row) {
    if (!std::isfinite(row.half)) return "(one seed: no interval)";
    return fmt::format("[{:+.4g}, {:+.4g}]", row.difference - row.half, row.difference + row.half);
}

/// Of the figures whose interval does not hold 0, the one that changed by the greatest part.
std::string in_words(const std::vector<Row>& rows, const CompareCommand& c) {
    const Row* most = nullptr;
    for (const Row& row : rows)
        if (row.certainty() > 1 && std::isfinite(row.half) &&
            (most == nullptr || std::abs(row.relative()) > std::abs(most->relative())))
            most = &row;
    if (most == nullptr) return "No figure differs by more than the seeds do.\n";
    const bool better = (most->difference > 0) == most->figure->more_is_better;
    return fmt::format("Most changed: {} {} from {:.4g} to {:.4g}{}{} with {} ({:+.0f} %), which is {}.\n",
                       most->figure->name, most->difference > 0 ? "rises" : "falls", most->a, most->b,
                       *most->figure->unit != 0 ? " " : "", most->figure->unit, c.b,
                       100 * most->difference / std::max(std::abs(most->a), 1e-12), better ? "better" : "worse");
}

/// The scenario with the file's fields (JSON), or under the file's options (config.xml).
Scenario variant(const CompareCommand& c, const std::string& file) {
    const auto text = read_file(file);
    if (!text) throw ConfigError(file + " is not there");
    const auto first = text->find_first_not_of(" \t\r\n");
    if (first != std::string::npos && (*text)[first] == '{') return load_scenario(c.scenario, {file, *text});
    Scenario scenario = load_scenario(c.scenario);
    scenario.config_name = file;
    scenario.config_file = *text;
    return scenario;
}

struct ComparedResults {
    std::vector<FleetResult> a, b;
};

ComparedResults run_both(const Scenario& a, const Scenario& b, const CompareCommand& c, const Recording* replay) {
    ComparedResults runs;
    ProgressBar bar;
    const double all = 2 * static_cast<double>(c.seeds);
    const auto run = [&](const Scenario& scenario, std::int64_t seed) {
        const auto done = static_cast<double>(runs.a.size() + runs.b.size());
        SimulationOptions options;
        options.seed = static_cast<std::uint64_t>(seed);
        options.stop = stop_wanted;
        options.replay = replay;
        options.progress = [&bar, done, all](double part) { bar((done + part) / all); };
        return simulate_fleet(scenario, options);
    };
    for (std::int64_t i = 0; i < c.seeds; ++i) {
        runs.a.push_back(run(a, c.first_seed + i));
        runs.b.push_back(run(b, c.first_seed + i));
    }
    return runs;
}

}  // namespace

void compare_configs(const CompareCommand& c) {
    Scenario a = variant(c, c.a), b = variant(c, c.b);
    if (!c.project.empty()) take_fleet(c.project, a), take_fleet(c.project, b);
    const auto recording = recording_of(c.replay);
    if (recording) a = for_replay(std::move(a), *recording), b = for_replay(std::move(b), *recording);
    heed_signals();
    if (!c.out.empty()) std::filesystem::create_directories(c.out);
    const ComparedResults runs = run_both(a, b, c, recording ? &*recording : nullptr);
    fmt::print("{} on seeds {} to {}: A is {}, B is {}\n", a.name, c.first_seed, c.first_seed + c.seeds - 1, c.a, c.b);
    fmt::print("{:26} {:>12} {:>12} {:>12}  95 % interval\n", "", "A", "B", "B - A");
    std::vector<Row> rows;
    nlohmann::ordered_json json;
    for (const Figure& figure : kFigures) {
        const Row row = rows.emplace_back(row_of(figure, runs.a, runs.b));
        const std::string name = *figure.unit != 0 ? fmt::format("{}, {}", figure.name, figure.unit) : figure.name;
        fmt::print("{:26} {:12.5g} {:12.5g} {:+12.4g}  {}\n", name, row.a, row.b, row.difference, interval(row));
        json[name] = {{"a", row.a}, {"b", row.b}, {"difference", row.difference}};
        if (std::isfinite(row.half)) json[name]["half_interval"] = row.half;
    }
    fmt::print("{}", in_words(rows, c));
    if (c.out.empty()) return;
    write_file_atomically(std::filesystem::path(c.out) / "compare.json", json.dump(1) + "\n");
}

}  // namespace sluice::sim
