// SPDX-License-Identifier: LGPL-3.0-or-later
// What a project pays for one job, from create_work to purge: the CPU time of the database and of all programs of the
// server, stage by stage, without the clients' side and the web server's. With --theirs upstream's programs do the same
// jobs on the same MariaDB, in turn; which side begins alternates. Then the same with every daemon running at a time:
// how many jobs a day two cores sustain.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <vector>

#include "tests/bench/job_life/life_side.h"
#include "tests/support/leave_root.h"
#include "tests/support/paths.h"
#include "tests/support/syncing_mariadb.h"

using namespace sluice;
using namespace sluice::test;

namespace {

/// What one side needed, a value a round.
struct Measured {
    std::vector<LifeCost> stages;
    std::vector<CpuTime> together;
};

double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

std::string spread(std::vector<double> v, const char* format) {
    std::sort(v.begin(), v.end());
    const auto text = [&](double x) { return fmt::format(fmt::runtime(format), x); };
    return text(v[v.size() / 2]) + " (" + text(v.front()) + " to " + text(v.back()) + ")";
}

CpuTime sum_of(const LifeCost& cost) {
    CpuTime sum;
    for (const CpuTime& stage : cost) sum += stage;
    return sum;
}

/// "1234 (1000 + 234)": us a job, in all, of the programs, of the database.
std::string us_of(const std::vector<CpuTime>& rounds, int jobs) {
    std::vector<double> programs, server, all;
    for (const CpuTime& t : rounds) {
        programs.push_back(1e6 * t.programs / jobs);
        server.push_back(1e6 * t.server / jobs);
        all.push_back(1e6 * t.all() / jobs);
    }
    return fmt::format("{:.0f} ({:.0f} + {:.0f})", median(all), median(programs), median(server));
}

void print_row(const char* name, const std::vector<CpuTime>& theirs, const std::vector<CpuTime>& ours, int jobs) {
    if (theirs.empty()) {
        fmt::print("| {} | {} |\n", name, us_of(ours, jobs));
    } else {
        std::vector<double> ratios;
        for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i].all() / std::max(theirs[i].all(), 1e-9));
        fmt::print("| {} | {} | {} | {} |\n", name, us_of(theirs, jobs), us_of(ours, jobs), spread(ratios, "{:.2f}"));
    }
    std::fflush(stdout);
}

std::string counts_of(const std::vector<CpuTime>& rounds, int jobs) {
    std::string cells;
    for (std::size_t i = 0; i < kServerCounts.size(); ++i) {
        std::vector<double> values;
        for (const CpuTime& t : rounds) values.push_back(t.counts[i] / jobs);
        cells += fmt::format(" {:.2f} |", median(values));
    }
    return cells;
}

/// One row's values of all rounds.
template <typename F>
std::vector<CpuTime> column(const Measured& side, F&& value) {
    std::vector<CpuTime> values;
    for (const LifeCost& cost : side.stages) values.push_back(value(cost));
    return values;
}

std::string jobs_a_day(const Measured& side, int jobs) {
    std::vector<double> millions;
    for (const CpuTime& t : side.together) millions.push_back(2 * 86400 * jobs / t.all() / 1e6);
    return spread(millions, "{:.1f}");
}

void print_counts(const char* whose, const Measured& side, int jobs) {
    fmt::print("\n{}: what the server counted, a workunit\n\n| stage |", whose);
    for (const char* name : kServerCounts) fmt::print(" {} |", name);
    fmt::print("\n|---|---|---|---|---|---|\n");
    for (std::size_t i = 0; i < kLifeStages.size(); ++i)
        fmt::print("| {} |{}\n", kLifeStages[i],
                   counts_of(column(side, [i](const LifeCost& cost) { return cost[i]; }), jobs));
    fmt::print("| all stages |{}\n", counts_of(column(side, sum_of), jobs));
}

void print_table(const Measured& theirs, const Measured& ours, const LifeSettings& s) {
    fmt::print(
        "quorum {}, {} rows in result, {} workunits a round, {} rounds, {} slots; CPU a workunit in us: median (programs "
        "+ database)\n\n",
        s.quorum, s.rows, s.jobs, s.pairs, s.slots);
    fmt::print("{}", theirs.stages.empty() ? "| stage | ours |\n|---|---|\n"
                                           : "| stage | theirs | ours | ours / theirs |\n|---|---|---|---|\n");
    for (std::size_t i = 0; i < kLifeStages.size(); ++i) {
        const auto value = [i](const LifeCost& cost) { return cost[i]; };
        print_row(kLifeStages[i], column(theirs, value), column(ours, value), s.jobs);
    }
    print_row("all stages", column(theirs, sum_of), column(ours, sum_of), s.jobs);
    if (s.together) {
        print_row("all daemons at a time", theirs.together, ours.together, s.jobs);
        fmt::print("\nmillion workunits a day on two cores:");
        if (!theirs.stages.empty()) fmt::print(" theirs {},", jobs_a_day(theirs, s.jobs));
        fmt::print(" ours {}\n", jobs_a_day(ours, s.jobs));
    }
    if (!theirs.stages.empty()) print_counts("theirs", theirs, s.jobs);
    print_counts("ours", ours, s.jobs);
}

void round_of(const char* whose, LifeSide& side, Measured& measured, const LifeSettings& s) {
    const int jobs = s.jobs;
    measured.stages.push_back(side.stage_by_stage());
    if (s.together) measured.together.push_back(side.all_at_once());
    fmt::print(stderr, "{}:", whose);
    for (std::size_t i = 0; i < kLifeStages.size(); ++i)
        fmt::print(stderr, " {} {:.0f},", kLifeStages[i], 1e6 * measured.stages.back()[i].all() / jobs);
    fmt::print(stderr, " all {:.0f}", 1e6 * sum_of(measured.stages.back()).all() / jobs);
    if (s.together) fmt::print(stderr, ", at a time {:.0f}", 1e6 * measured.together.back().all() / jobs);
    fmt::print(stderr, "\n");
}

int bench(const LifeSettings& s) {
    PrivateMariaDb server(syncing_mariadb(s.rows < 10000 ? 64 : s.rows <= 500000 ? 1024 : 4096));
    std::unique_ptr<LifeSide> theirs;
    if (!s.theirs.empty()) theirs = std::make_unique<LifeSide>(server, Whose::kTheirs, s);
    LifeSide ours(server, Whose::kOurs, s);
    Measured of_theirs, of_ours;
    for (int pair = 0; pair < s.pairs; ++pair) {
        if (theirs && pair % 2 == 0) round_of("theirs", *theirs, of_theirs, s);
        round_of("ours", ours, of_ours, s);
        if (theirs && pair % 2 == 1) round_of("theirs", *theirs, of_theirs, s);
    }
    print_table(of_theirs, of_ours, s);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    leave_root(argv);
    CLI::App app("What a job costs the server from create_work to purge, by stage.", "life");
    LifeSettings s;
    s.ours = binary_dir();
    bool plain_cgi = false, stages_only = false;
    app.add_option("--theirs", s.theirs, "folder with upstream's bin and cgi-bin; without: ours alone")
        ->check(CLI::ExistingDirectory);
    app.add_option("--ours", s.ours, "folder with ours (default: what was built)")->check(CLI::ExistingDirectory);
    app.add_option("--schema", s.schema, "the tables of theirs (default: ours)")->check(CLI::ExistingFile);
    app.add_option("--rows", s.rows, "in result besides")->capture_default_str()->check(CLI::Range(0, 10000000));
    app.add_option("--quorum", s.quorum)->capture_default_str()->check(CLI::Range(1, 2));
    app.add_option("--jobs", s.jobs, "workunits of a round")->capture_default_str()->check(CLI::Range(1, 100000));
    app.add_option("--pairs", s.pairs, "rounds of each side")->capture_default_str()->check(CLI::Range(1, 100));
    app.add_option("--slots", s.slots, "of the job array")->capture_default_str()->check(CLI::Range(10, 100000));
    app.add_option("--sleep", s.sleep, "s between two passes of a daemon (default: the program's)")
        ->check(CLI::Range(1, 60));
    app.add_option(
           "--assimilator", s.assimilator,
           "batch_collect keeps the output files, as where make_project --test_app of upstream sets it up; script "
           "starts a shell script for each workunit")
        ->capture_default_str()
        ->check(CLI::IsMember({"batch_collect", "script"}));
    app.add_flag("--plain-cgi", plain_cgi, "ours without its resident programs");
    app.add_flag("--stages-only", stages_only, "without the run of every daemon at a time");
    CLI11_PARSE(app, argc, argv);
    s.resident = !plain_cgi;
    s.together = !stages_only;
    try {
        return bench(s);
    } catch (const std::exception& e) {
        fmt::print(stderr, "life: {}\n", e.what());
        return 1;
    }
}
