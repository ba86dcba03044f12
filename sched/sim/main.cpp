// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice_sim: what volunteers' clients do, and a whole fleet of them. Has no counterpart upstream.
#include <cstdio>

#include "sched/sim/client_state_file.h"
#include "sched/sim/project_fleet.h"
#include "sched/sim/run_command.h"
#include "sluice/base/log.h"
#include "sluice/daemon/program.h"

namespace {

constexpr const char* kDescription =
    "sluice_sim client STATE.json (- is standard input) prints as JSON what a BOINC client in that state decides: "
    "what runs, what misses its deadline, and what it asks of which project. It reads nothing of a project.\n\n"
    "The state: {\"now\": time, \"work_buf_min\", \"work_buf_additional\": seconds, \"on_frac\": part of the time in "
    "which it computes (default 1), \"rules\": \"client\" (default: as boinc-client does) or \"seed\" (as its design "
    "says), \"resources\": [{\"type\": \"CPU\" or a GPU's, \"instances\"}], \"projects\": [{\"name\", "
    "\"resource_share\" (default 100), \"rec\" (default 0), \"fetchable\" (default true), \"backoff\": {type: "
    "time}}], \"jobs\" in the order of their arrival: [{\"name\", \"project\", \"type\", \"instances\" (default 1), "
    "\"cpus\" (of GPU jobs, default 0), \"remaining\": seconds of run time, \"deadline\": time, \"started\" (default "
    "false)}]}. deadline and backoff are in the clock of now.\n\n"
    "STATE.json may also be the client_state.xml of a boinc-client 7. Preferences are then read from "
    "global_prefs.xml, global_prefs_override.xml and cc_config.xml in the same folder.\n\n"
    "The result: {\"wrr\": {type: {\"shortfall\", \"idle_instances\", \"saturated\"}}, \"deadline_miss\": [names], "
    "\"edf\": {type: {\"busy\"}}, \"priority\": {project: number}, \"run\": [names, in the order chosen], \"fetch\": "
    "{\"project\", \"types\": {type: {\"seconds\", \"instances\"}}} or null}. Times are seconds from now; shortfall "
    "is in instance-seconds.";

constexpr const char* kFleet =
    "sluice_sim run SCENARIO simulates a fleet of hosts, the work for it, and the project's programs on a virtual "
    "clock. SCENARIO is a name of --list, or a JSON file (docs/simulator.md). Same scenario and --seed, same result. "
    "--out DIR writes the figures to DIR/result.json, and as charts to DIR/report.html.\n\n"
    "sluice_sim compare A B SCENARIO runs two variants of it on the same seeds and prints what differs. A and B are "
    "files: a config.xml, or JSON with fields that replace the scenario's ({} for none).\n\n"
    "sluice_sim hosts PROJECT prints the machines of the project in that folder as a trace (CSV) for scenarios, "
    "without names or addresses. --from-project takes them, and the project's apps, at once.";

struct Arguments {
    std::vector<std::string> words;
    sluice::sim::RunCommand run;
    std::int64_t seeds = 5;
    bool list = false;
};

int act(const sluice::CommandLine& line, Arguments& a) {
    const auto is = [&](const char* what, std::size_t words) { return a.words.size() == words && a.words[0] == what; };
    if (a.list) {
        std::fputs(sluice::sim::scenario_list().c_str(), stdout);
    } else if (is("client", 2)) {
        std::fputs(sluice::client_decisions(a.words[1]).c_str(), stdout);
    } else if (is("run", 2)) {
        a.run.scenario = a.words[1];
        sluice::sim::run_scenario(a.run);
    } else if (is("hosts", 2)) {
        std::fputs(sluice::sim::fleet_csv(a.words[1]).c_str(), stdout);
    } else if (is("compare", 4)) {
        sluice::sim::compare_configs(
            {a.words[1], a.words[2], a.words[3], a.run.seed, a.seeds, a.run.out, a.run.project, a.run.replay});
    } else {
        return line.fail("give: client STATE.json, run SCENARIO, compare A B SCENARIO, hosts PROJECT, or --list");
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    Arguments a;
    sluice::CommandLine line("sluice_sim", "simulates a fleet of hosts, or shows what one client decides",
                             std::string(kFleet) + "\n\n" + kDescription);
    line.positional("COMMAND", a.words, "client STATE.json, run SCENARIO, compare A B SCENARIO, or hosts PROJECT");
    line.option("--seed", a.run.seed, "of the random numbers; default 1; compare begins with it");
    line.option("--seeds", a.seeds, "compare: so many runs of each; default 5");
    line.option("--out", a.run.out, "write result.json and report.html (compare: compare.json) into this folder",
                "DIR");
    line.option("--config", a.run.config, "run with the options of this config.xml", "FILE");
    line.option("--from-project", a.run.project, "hosts and apps of the project in this folder", "DIR");
    line.option("--replay", a.run.replay,
                "take the requests that a scheduler kept in this folder (<debug_req_reply_dir>) instead of the "
                "scenario's hosts",
                "DIR");
    line.option("--jobs", a.run.jobs, "write a line of CSV for every job into this file", "FILE");
    line.flag("--list", a.list, "the built-in scenarios");
    line.section("EXIT STATUS", "0: printed. 1: wrong command line. 2: wrong input; standard error names the place.");
    if (const auto status = line.parse(argc, argv)) return *status;
    if (a.run.seed < 0) return line.fail("--seed must be 0 or more");
    if (a.seeds < 1 || a.seeds > 1000) return line.fail("--seeds must be from 1 to 1000");
    sluice::log_set_level(sluice::LogLevel::kCritical);
    return sluice::tool_main({"sluice_sim", 2}, [&] { return act(line, a); });
}
