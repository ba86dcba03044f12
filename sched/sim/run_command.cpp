// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/run_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "sched/sim/fleet.h"
#include "sched/sim/fleet_result.h"
#include "sched/sim/project_fleet.h"
#include "sched/sim/scenario.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"

namespace sluice::sim {

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

ProgressBar::ProgressBar() : shown_(::isatty(STDERR_FILENO) != 0), start_(seconds_now()) {}

ProgressBar::~ProgressBar() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::operator()(double part) {
    if (!shown_) return;
    constexpr int kWidth = 40;
    const int full = static_cast<int>(part * kWidth);
    const double left = (seconds_now() - start_) * (1 - part) / part;
    std::fputs(
        fmt::format("\r[{:#<{}}{:.<{}}] {:3.0f} %  {:.0f} s left ", "", full, "", kWidth - full, 100 * part, left)
            .c_str(),
        stderr);
}

namespace {

void use_config(Scenario& scenario, const std::string& file) {
    const auto text = read_file(file);
    if (!text) throw ConfigError(file + " is not there");
    scenario.config_name = file;
    scenario.config_file = *text;
}

void print_summary(const FleetResult& r, double seconds) {
    fmt::print("{}: seed {}, {} hosts, {:.1f} days ({:.1f} s)\n", in_one_line(r.scenario), r.seed, r.hosts,
               r.simulated_seconds / 86400, seconds);
    fmt::print("jobs       {} submitted, {} done ({:.0f} a day), {} given up\n", r.jobs_submitted, r.jobs_done,
               r.throughput_per_day, r.jobs_errors);
    fmt::print("instances  {:.3f} a job, {} past their deadline, {:.0f} core-hours wasted of {:.0f}\n",
               r.instances_per_job, r.jobs_missed, r.wasted_core_hours, r.wasted_core_hours + r.useful_core_hours);
    fmt::print("requests   {}, {} for work, {} of these got none; {:.1f} store calls each\n", r.requests,
               r.work_requests, r.empty_replies, r.statements_per_request);
    if (!r.makespans_hours.empty()) {
        fmt::print("batches    makespan p50 {:.1f} h, p95 {:.1f} h, max {:.1f} h of {}; {} open\n",
                   r.makespan_hours.p50, r.makespan_hours.p95, r.makespan_hours.max, r.makespan_hours.n,
                   r.batches_open);
        const Distribution idle = spread_of(r.bounds.idle_fleet_hours),
                           contacts = spread_of(r.bounds.real_contacts_hours);
        fmt::print("bounds     idle fleet p50 {:.1f} h, with real contacts p50 {:.1f} h\n", idle.p50, contacts.p50);
    }
    for (const auto& [name, w] : r.waits_by_size_class)
        fmt::print("wait       {}: p50 {:.1f} h, p95 {:.1f} h, max {:.1f} h\n", name, w.p50, w.p95, w.max);
    fmt::print("in band    {:.1f} % of valid results; share error {:.3f}\n", 100 * r.in_band, r.share_error);
}

volatile std::sig_atomic_t g_stop = 0;

}  // namespace

std::optional<Recording> recording_of(const std::string& folder) {
    if (folder.empty()) return std::nullopt;
    Recording recording = read_recording(folder);
    if (recording.left_out > 0)
        fmt::print(stderr, "sluice_sim: {} of {} files are left out, the first: {}\n", recording.left_out,
                   recording.left_out + recording.requests.size(), recording.why);
    return recording;
}

void heed_signals() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, [](int) { g_stop = 1; });
    std::signal(SIGPIPE, SIG_IGN);
}

bool stop_wanted() { return g_stop != 0; }

void run_scenario(const RunCommand& command) {
    Scenario scenario = load_scenario(command.scenario);
    if (!command.config.empty()) use_config(scenario, command.config);
    if (!command.project.empty()) take_fleet(command.project, scenario);
    const auto recording = recording_of(command.replay);
    if (recording) scenario = for_replay(std::move(scenario), *recording);
    // A place that can't be written to is found before the work, not after it.
    if (!command.out.empty()) std::filesystem::create_directories(command.out);
    const auto folder = std::filesystem::path(command.jobs).parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder))
        throw ConfigError(
            fmt::format("--jobs {}: there is no folder {}: make it first", command.jobs, folder.string()));
    std::string lines;
    SimulationOptions options;
    options.seed = static_cast<std::uint64_t>(command.seed);
    options.stop = stop_wanted;
    options.replay = recording ? &*recording : nullptr;
    if (!command.jobs.empty()) options.job_lines = &lines;
    const double start = seconds_now();
    FleetResult result;
    heed_signals();  // not before: what waits for its input is ended by a signal
    {
        ProgressBar bar;
        options.progress = [&bar](double part) { bar(part); };
        result = simulate_fleet(scenario, options);
    }
    print_summary(result, seconds_now() - start);
    if (!command.jobs.empty())
        write_file_atomically(command.jobs, "job,class,created_s,decided_s,instances,state\n" + lines);
    if (command.out.empty()) return;
    write_file_atomically(std::filesystem::path(command.out) / "result.json", to_json(result));
    write_file_atomically(std::filesystem::path(command.out) / "report.html", report_html(result));
}

std::string scenario_list() {
    std::string list;
    for (const BuiltInScenario& b : built_in_scenarios()) list += fmt::format("{:10} {}\n", b.name, b.about);
    return list;
}

}  // namespace sluice::sim
