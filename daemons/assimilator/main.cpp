// SPDX-License-Identifier: LGPL-3.0-or-later
// script_assimilator: runs a script for every workunit that has its canonical result, or failed. Upstream's program of
// that name, same options.
#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/assimilator/assimilator.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

void define_options(CommandLine& line, AssimilatorOptions& o) {
    line.option("--app", o.app_name, "app whose workunits are assimilated (required)", "NAME");
    line.option("--script", o.script,
                "script and what it is given: files files2 wu_id wu_name result_id runtime batch_id (required)",
                "\"S token …\"");
    line.option("--time_limit", o.time_limit,
                "a script that runs longer is killed, and called again later: exit status 124; default 0: no limit",
                "S");
    line.option("--wu_id", o.filter.wu_id, "only this workunit", "ID");
    line.option("--one_pass_N_WU", o.one_pass_n_wu, "stop after N workunits");
    line.flag("--dont_update_db", o.dont_update_db, "run the scripts, mark nothing");
}

std::string take(AssimilatorOptions& o, DaemonStart& start) {
    o.filter.share = start.share;
    o.every = start.settings.sleep_interval;
    if (o.time_limit < 0) return "--time_limit is below 0; 0: no limit";
    if (o.dont_update_db) start.settings.one_pass = true;
    return o.app_name.empty() || o.script.empty() ? "--app and --script are required" : "";
}

int run(const AssimilatorOptions& options, DaemonStart& start) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    Database db(db_settings(config));
    const auto store = make_assimilate_store(db);
    Assimilator assimilator(options, start.settings.project, config, *store, start.env.clock);
    return start.run(assimilator);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    AssimilatorOptions options;
    const DaemonProgram program{
        .summary = "run a script for every finished workunit",
        .description =
            "The script is bin/SCRIPT. Exit status 0 means that the workunit is done; otherwise it is called again "
            "later. For a workunit that failed it is called as SCRIPT --error MASK WUNAME WUID BATCH.",
        .settings = {.name = "script_assimilator", .sleep_interval = 10},
        .has_mod = true,
        .options = [&](CommandLine& line) { define_options(line, options); },
        .check = [&](DaemonStart& start) { return take(options, start); },
        .run = [&](DaemonStart& start) { return run(options, start); }};
    return daemon_main(program, argc, argv);
}
