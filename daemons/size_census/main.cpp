// SPDX-License-Identifier: LGPL-3.0-or-later
// size_census: measures how fast the devices are that run each multi-size app, and writes the quantiles that the
// scheduler matches size classes with: PROJECT/size_census_APP. Runs once (a <task> of config.xml). Stands for
// upstream's size_census.php; files are written whole or not at all.
#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/size_census/size_census.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

void define_options(CommandLine& line, CensusOptions& o) {
    line.flag("--all_apps", o.all_apps, "also apps without size classes");
    line.flag("--advise", o.advise, "suggest the number of classes and the sizes of their jobs; writes no census");
    line.option("--target_runtime", o.wish.target_runtime,
                "with --advise: run time that a job should have; default 3600", "SECONDS");
    line.option("--band", o.wish.band, "with --advise: a run time up to this factor off the target is good; default 2");
    line.option("--share", o.wish.share, "with --advise: share of hosts that should have a good run time; default 0.9");
    line.option("--svg", o.svg,
                "with --advise: write the histogram as a picture; with several apps NAME.svg becomes NAME_APP.svg",
                "FILE");
    line.section("FILES", "PROJECT/size_census_APP: n_size_classes - 1 lines, ascending flops per second.");
}

std::string check(const CensusOptions& o) {
    if (o.wish.target_runtime <= 0 || o.wish.band <= 1 || o.wish.share <= 0 || o.wish.share > 1)
        return "--target_runtime must be above 0, --band above 1, --share in (0, 1]";
    return o.svg.empty() || o.advise ? "" : "--svg is a picture of what --advise says";
}

int run(CensusOptions& options, DaemonStart& start) {
    options.dry_run = start.dry_run;
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    Database db(replica_db_settings(config));
    const auto store = make_size_census_store(db);
    const PlanClasses classes = load_plan_classes(start.settings.project);
    SizeCensus census(options, start.settings.project, config.compat_level, *store, classes, start.env.clock);
    return start.run(census);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    CensusOptions options;
    const DaemonProgram program{
        .summary = "measure the speed of the devices that run multi-size apps",
        .description =
            "Writes the speeds at which an app's size classes divide the devices. The effective speed of a device is "
            "the flops it does per second of wall time: the part of the time in which it computes, divided by "
            "host_app_version.et_avg.",
        .settings = {.name = "size_census", .one_pass_while_stopped = true, .lock_name = "size_census"},
        .lifetime = Lifetime::kAlwaysOnce,
        .has_dry_run = true,
        .options = [&](CommandLine& line) { define_options(line, options); },
        .check = [&](DaemonStart&) { return check(options); },
        .run = [&](DaemonStart& start) { return run(options, start); }};
    return daemon_main(program, argc, argv);
}
