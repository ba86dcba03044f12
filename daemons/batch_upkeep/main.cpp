// SPDX-License-Identifier: LGPL-3.0-or-later
// batch_upkeep: keeps counts, states and fraction_done of batches right, so that nothing depends on somebody looking at
// a web page. What upstream's get_batch_params() does when a page shows the batch.
#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/batch_upkeep/upkeep_pass.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

constexpr const char* kDescription =
    "For each batch in progress: njobs, nerror_jobs, fraction_done and credit_canonical are computed from its workunits; a "
    "batch all of whose jobs succeeded or failed becomes COMPLETE, with completion_time. Rows that are right already are not "
    "written.";

void define_options(CommandLine& line, std::optional<Id>& only) {
    line.id_option("--batch", only, "only this batch, once, whatever its state");
    line.section(
        "EXAMPLES",
        "As a daemon of config.xml:\n<daemon><cmd>batch_upkeep</cmd></daemon>\n\n"
        "batch_accel does the same before it decides; with it in <tasks>, batch_upkeep only makes it timelier.");
}

int run(DaemonStart& start, std::optional<Id> only) {
    start.settings.one_pass = start.settings.one_pass || only;
    Database db(db_settings(load_config_and_warn(start.settings.project)));
    const auto store = make_batch_upkeep_store(db);
    UpkeepService service(*store, {only, start.dry_run, start.settings.one_pass, start.settings.sleep_interval},
                          start.env.clock);
    return start.run(service);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    std::optional<Id> only;
    const DaemonProgram program{.summary = "keep the counts and states of batches right",
                                .description = kDescription,
                                .settings = {.name = "batch_upkeep", .sleep_interval = 60, .lock_name = "batch_upkeep"},
                                .has_dry_run = true,
                                .options = [&](CommandLine& line) { define_options(line, only); },
                                .run = [&](DaemonStart& start) { return run(start, only); }};
    return daemon_main(program, argc, argv);
}
