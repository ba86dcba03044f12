// SPDX-License-Identifier: LGPL-3.0-or-later
// census: how much recent credit each HR class has, for the shares of the job array's slots (<hr_allocate_slots>):
// PROJECT/hr_info.txt. Runs once (a <task> of config.xml). Upstream's program of that name; the file is written whole
// or not at all.
#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/census/hr_census.h"
#include "sluice/daemon/program.h"

namespace {

using namespace sluice;

void define_options(CommandLine& line) {
    line.section(
        "FILES",
        "PROJECT/hr_info.txt: for each HR type (fine, coarse) a line of dashes and its name, then one line a class:\n"
        "its number and the sum of expavg_credit of its hosts. A running feeder reads it when it changes.");
}

int run(DaemonStart& start) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    DbSettings settings = db_settings(config);
    settings.read_uncommitted = true;
    Database db(settings);
    const auto store = make_hr_census_store(db);
    HrCensusTask task(*store, start.settings.project, config.compat_level);
    return start.run(task);
}

}  // namespace

int main(int argc, char** argv) {
    const DaemonProgram program{
        .summary = "measure how much recent credit the hosts of each HR class have",
        .description =
            "With homogeneous redundancy and <hr_allocate_slots> the feeder divides the job array among the classes "
            "by these figures. Run it about once a day, as a <task> in config.xml.",
        .settings = {.name = "census", .lock_name = "census"},
        .lifetime = Lifetime::kAlwaysOnce,
        .options = define_options,
        .run = run};
    return daemon_main(program, argc, argv);
}
