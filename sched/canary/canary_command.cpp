// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/canary/canary_command.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <cmath>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "config/run/own_programs.h"
#include "sched/canary/canary.h"
#include "sched/canary/choice.h"
#include "sched/canary/figures.h"
#include "sluice/base/process.h"
#include "sluice/daemon/command_line.h"
#include "sluice/daemon/subcommand.h"

namespace sluice {
namespace {

constexpr const char* kCanaryDescription =
    "Gives N percent of the hosts to Sluice's scheduler; the others stay with the project's own. A hash of the host's id "
    "decides. So a host stays on its side, and a larger N only adds hosts. A host without an id is chosen by the id that "
    "it gave itself.\n\n"
    "The first call puts a small program into the place of cgi-bin/cgi, which hands each request on and counts. It adds "
    "the daemons canary_feeder and scheduler to config.xml, and starts them. No other program is replaced, and nothing "
    "stops. A further call changes N at once.\n\n"
    "--stop, or --percent 0, takes all of that away again. After a kill, call the same command again. Without --percent "
    "and --stop it prints what both sides did, by the hour.\n\n"
    "Both feeders may offer a job, but only one scheduler can send it. Run it as the project's account.";

struct CanaryArguments {
    std::vector<std::string> projects;
    std::string prefix;
    std::optional<double> percent;
    std::int64_t hours = 24;
    double wait = 60;
    bool stop = false, status = false, json = false;
};

void define_canary_options(CommandLine& line, CanaryArguments& a) {
    line.failure_status(kCouldNot);
    line.positional("PROJECT", a.projects, "The project's folder.");
    line.option("--percent", a.percent, "Hosts that go to Sluice, from 0 to 100, in steps of 0.01.", "N");
    line.flag("--stop", a.stop, "All hosts go to the project's own scheduler again, and what was added goes.");
    line.flag("--status", a.status, "What both sides did (default).");
    line.flag("--json", a.json, "With --status: as JSON.");
    line.option("--hours", a.hours, "With --status: so many hours (24).", "N");
    line.option("--install_from", a.prefix, "Where Sluice is installed (default: where this program is).", "PREFIX");
    line.option("--wait", a.wait, "Seconds in which Sluice's scheduler has to serve, and its daemons to end (60).",
                "S");
    line.exclude("--percent", "--stop");
    line.exclude("--percent", "--status");
    line.exclude("--stop", "--status");
    for (const char* of_status : {"--json", "--hours"})
        for (const char* other : {"--percent", "--stop"}) line.exclude(of_status, other);
    line.section(
        "FILES",
        "PROJECT/sluice-canary: the project's own scheduler, the share, and the figures, a file an hour. It is "
        "gone after --stop.");
    line.section("EXIT STATUS",
                 "0: done, or nothing to do. 1: hosts are to be divided, and something of it is missing. 2: it could "
                 "not be done.");
    line.section("EXAMPLES",
                 "sluice canary --percent 10 /home/boincadm/projects/test\nsluice canary /home/boincadm/projects/test");
}

nlohmann::ordered_json side_json(const SideFigures& side) {
    return {{"requests", side.requests},
            {"jobs", side.jobs},
            {"refused", side.refused},
            {"asked_for_no_work", side.idle},
            {"down", side.down},
            {"failed", side.failed},
            {"reasons", side.reasons},
            {"latency_ms",
             {{"median", side.milliseconds(.5)}, {"p95", side.milliseconds(.95)}, {"most", side.most_milliseconds}}}};
}

void print_json(double percent, const std::vector<std::string>& wrong, const std::vector<HourFigures>& hours) {
    nlohmann::ordered_json all = {{"percent", percent}, {"wrong", wrong}, {"hours", nlohmann::ordered_json::array()}};
    for (const HourFigures& figures : hours)
        all["hours"].push_back(
            {{"hour", fmt::format("{:%Y-%m-%dT%H:00Z}", fmt::gmtime(static_cast<std::time_t>(figures.hour * 3600)))},
             {"ours", side_json(figures.ours)},
             {"theirs", side_json(figures.theirs)}});
    fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

int print_status(const Canary& canary, std::int64_t hours, bool json) {
    const double percent = canary.share() / 100.;
    const std::vector<std::string> wrong = canary.wrong();
    const auto figures = read_figures(canary.figures(), std::time(nullptr) / 3600, hours);
    if (json) {
        print_json(percent, wrong, figures);
    } else {
        fmt::print("{} % of the hosts go to Sluice\n", percent);
        for (const std::string& line : wrong) fmt::print("{}\n", line);
        if (!figures.empty()) fmt::print("{}", figures_text(figures));
    }
    return wrong.empty() ? kNothingToDo : kDifferences;
}

}  // namespace

int canary_command(int argc, const char* const* argv) {
    CanaryArguments a;
    CommandLine line("sluice canary", "Gives a part of a project's hosts to Sluice's scheduler", kCanaryDescription);
    define_canary_options(line, a);
    if (const auto status = line.parse(argc, argv)) return *status;
    if (a.projects.size() != 1 || a.projects[0].empty()) return line.fail("give one project's folder");
    if (a.percent && !(*a.percent >= 0 && *a.percent <= 100)) return line.fail("--percent: 0 to 100 are allowed");
    const int share = static_cast<int>(std::lround(a.percent.value_or(0) * 100));
    if (share == 0 && a.percent.value_or(0) > 0) return line.fail("--percent: the least share is 0.01");
    if (!(a.wait >= 1 && a.wait <= 3600)) return line.fail("--wait: 1 to 3600 seconds are allowed");
    if (a.hours < 1 || a.hours > 1000) return line.fail("--hours: 1 to 1000 are allowed");
    auto project = std::filesystem::absolute(a.projects[0]).lexically_normal();
    if (!project.has_filename()) project = project.parent_path();
    Canary canary({project, a.prefix.empty() ? own_prefix() : std::filesystem::absolute(a.prefix), a.wait});
    if (!a.percent && !a.stop) return print_status(canary, a.hours, a.json);
    if (share == 0)
        canary.end();
    else
        canary.divide(share);
    return kNothingToDo;
}

}  // namespace sluice
