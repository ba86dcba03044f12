// SPDX-License-Identifier: LGPL-3.0-or-later
// gang_planner: which hosts come when for jobs that must run at the same time (seed 000, co-scheduling). Has no
// counterpart upstream.
#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/gang_planner/gang_pass.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

constexpr const char* kDescription =
    "Jobs of a gang (sluice_batch submit --gang_size) are sent only to hosts that are there at the same time. This program "
    "asks hosts that are likely to stay on to come at a certain time, the scheduler tells them so, and when enough have come "
    "each gets a member; until then they go on with other work. If too few are there, they come again ten minutes later; "
    "who knew and did not come three times is not asked any more, and is thought less of. Without this program no job of a "
    "gang is ever sent. --dry_run says of each gang what it waits for. docs/gangs.md tells more.";

int run(DaemonStart& start) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    Database db(db_settings(config));
    const auto store = make_gang_lease_store(db);
    const auto plans = make_plan_store(db);
    GangPass pass(*store, *plans, start.env.clock,
                  {config.next_rpc_delay, config.daily_result_quota, start.dry_run, start.settings.sleep_interval});
    return start.run(pass);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    const DaemonProgram program{.summary = "which hosts come when for jobs that must run at the same time",
                                .description = kDescription,
                                .settings = {.name = "gang_planner", .sleep_interval = 10, .lock_name = "gang_planner"},
                                .has_dry_run = true,
                                .options =
                                    [](CommandLine& line) {
                                        line.section("EXAMPLES",
                                                     "In config.xml:\n<daemon><cmd>gang_planner</cmd></daemon>");
                                    },
                                .run = [](DaemonStart& start) { return run(start); }};
    return daemon_main(program, argc, argv);
}
