// SPDX-License-Identifier: LGPL-3.0-or-later
// batch_stats: measures how quickly hosts return jobs, over batches. Marks low-turnaround hosts (host.error_rate), apps
// that batches can be accelerated for (app.n_size_classes) and the median turnaround of batches (batch.expire_time).
// Stands for upstream's batch_stats.php; reads only what changed since its last run.
#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/batch_stats/stats_options.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

constexpr const char* kDescription =
    "For each batch the median turnaround time of its successful jobs is computed; for each host the mean of turnaround / "
    "median over its jobs. Hosts where that is below 1 are low-turnaround (LTT) hosts: host.error_rate is 1, else 0. An app "
    "that more than 100 hosts have completed jobs of, more than a quarter of them LTT, is accelerable: app.n_size_classes is "
    "1, else 0; apps with size classes (2 and more) are left alone. The median is stored in batch.expire_time.\n\n"
    "At compat_level 1 jobs that failed, timed out or run longer than the median count too, old jobs fade, few jobs are not "
    "a verdict, and verdicts on (host, app version) are kept in the table sluice_host_ltt.\n\n"
    "It runs once and exits, unless --sleep_interval is given.";

struct StatsCall {
    StatsOptions rules;
    bool full = false;
    double incremental_above = 1;
};

void define_options(CommandLine& line, StatsCall& o) {
    o.rules.define(line);
    line.option("--incremental_above", o.incremental_above,
                "read only what changed if reading everything took more than X seconds; default 1");
    line.flag("--full", o.full, "read everything, not only what changed since the last run");
    line.section(
        "FILES",
        "PROJECT/batch_stats.state: what is known from the last run. It can be deleted at any time; the next "
        "run reads everything then. So does a run once a day, and each run as long as that takes under a second (--incremental_above).");
    line.section("EXIT STATUS", "0, or 1 if the database could not be reached, or another batch_stats is running.");
    line.section("EXAMPLES", "As a task of config.xml:\n<task><cmd>batch_stats</cmd><period>1 hour</period></task>");
}

std::string check(const StatsCall& o) {
    return o.incremental_above < 0 ? "seconds can't be negative" : o.rules.check();
}

int run(const StatsCall& o, DaemonStart& start) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    StatsSettings settings = stats_settings(config, o.rules.rules(config.compat_level));
    settings.full = o.full;
    settings.cheap_full = o.incremental_above;
    settings.dry_run = start.dry_run;
    settings.every = start.settings.sleep_interval;
    Database db(db_settings(config)), replica(replica_settings(config));
    const auto store = make_batch_stats_store(db, has_replica(config) ? replica : db);
    const auto versions = make_host_ltt_store(db);
    StatsPass pass(settings, *store, *versions, start.env.clock);
    return start.run(pass);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    StatsCall options;
    const DaemonProgram program{
        .summary = "find the hosts that return jobs quickly, and the apps whose batches can be accelerated",
        .description = kDescription,
        .settings = {.name = "batch_stats", .one_pass_while_stopped = true, .lock_name = kStatsLock},
        .runs = Runs::kOnce,
        .has_dry_run = true,
        .options = [&](CommandLine& line) { define_options(line, options); },
        .check = [&](DaemonStart&) { return check(options); },
        .run = [&](DaemonStart& start) { return run(options, start); }};
    return daemon_main(program, argc, argv);
}
