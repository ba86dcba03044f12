// SPDX-License-Identifier: LGPL-3.0-or-later
// batch_accel: finds batches that are almost done and speeds up their last jobs: high priority, and one instance more
// where the running ones take too long. Stands for upstream's batch_accel.php.
#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/batch_accel/accel_service.h"
#include "daemons/batch_stats/stats_options.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

constexpr const char* kDescription =
    "For each batch in progress its counts are brought up to date (as batch_upkeep does). If its app is accelerable and enough "
    "of its jobs are done, the other ones get priority 1, workunits and unsent results, and one instance more where none waits "
    "to be sent, the running ones are older than the batch's typical turnaround, and max_total_results allows. What jobs had "
    "before is kept in the tables sluice_accel_job and sluice_accel_result and comes back when the app is not accelerable any "
    "more. Finished jobs are never touched.\n\n"
    "Like upstream's it runs batch_stats' computation first, unless batch_stats did that less than --stats_age seconds ago, or "
    "never ran while the flags of apps are set (somebody else keeps them then), or --no_stats is given.\n\n"
    "It runs once and exits, unless --sleep_interval is given.";

std::string check(AccelOptions& options, DaemonStart& start) {
    options.dry_run = start.dry_run;
    options.every = start.settings.sleep_interval;
    if (options.explain) {
        start.settings.one_pass = true;
        start.settings.lock_name.clear();  // it writes nothing
    }
    return options.check();
}

int run(const AccelOptions& options, DaemonStart& start) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    Database db(db_settings(config)), replica(replica_settings(config));
    const auto accel = make_batch_accel_store(db);
    const auto upkeep = make_batch_upkeep_store(db);
    const auto stats = make_batch_stats_store(db, has_replica(config) ? replica : db);
    const auto versions = make_host_ltt_store(db);
    AccelService service(options, config, {*accel, *upkeep, *stats, *versions}, start.env.clock);
    return start.run(service);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    AccelOptions options;
    const DaemonProgram program{
        .summary = "speed up the last jobs of batches that are almost done",
        .description = kDescription,
        .settings = {.name = "batch_accel", .one_pass_while_stopped = true, .lock_name = "batch_accel"},
        .runs = Runs::kOnce,
        .has_dry_run = true,
        .options = [&](CommandLine& line) { options.define(line); },
        .check = [&](DaemonStart& start) { return check(options, start); },
        .run = [&](DaemonStart& start) { return run(options, start); }};
    return daemon_main(program, argc, argv);
}
