// batch_stats: measures how quickly hosts return jobs, over batches. Marks low-turnaround hosts (host.error_rate), apps
// that batches can be accelerated for (app.n_size_classes) and the median turnaround of batches (batch.expire_time).
// Stands for upstream's batch_stats.php; reads only what changed since its last run.
#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/batch_stats/stats_options.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/daemon/daemon.h"

namespace {

constexpr const char* kDescription =
    "For each batch the median turnaround time of its successful jobs is computed; for each host the mean of turnaround / "
    "median over its jobs. Hosts where that is below 1 are low-turnaround (LTT) hosts: host.error_rate is 1, else 0. An app "
    "that more than 100 hosts have completed jobs of, more than a quarter of them LTT, is accelerable: app.n_size_classes is "
    "1, else 0; apps with size classes (2 and more) are left alone. The median is stored in batch.expire_time.\n\n"
    "At compat_level 1 jobs that failed, timed out or run longer than the median count too, old jobs fade, few jobs are not "
    "a verdict, and verdicts on (host, app version) are kept in the table sluice_host_ltt.\n\n"
    "It runs once and exits, unless --sleep_interval is given.";

}  // namespace

int main(int argc, char** argv) {
    using namespace sluice;
    StatsOptions options;
    bool full = false, dry_run = false, one_pass = false;
    double sleep_interval = 0, incremental_above = 1;
    CommandLine line("batch_stats",
                     "find the hosts that return jobs quickly, and the apps whose batches can be accelerated",
                     kDescription);
    options.define(line);
    line.option("--incremental_above", incremental_above,
                "read only what changed if reading everything took more than X seconds; default 1");
    line.flag("--full", full, "read everything, not only what changed since the last run");
    line.flag("--dry_run", dry_run, "print what would be written, write nothing");
    line.flag("--one_pass", one_pass, "run once (the default)");
    line.option("--sleep_interval", sleep_interval, "run as a daemon, a pass every X seconds");
    line.debug_level_option();
    line.section(
        "FILES",
        "PROJECT/batch_stats.state: what is known from the last run. It can be deleted at any time; the next "
        "run reads everything then. So does a run once a day, and each run as long as that takes under a second (--incremental_above).");
    line.section("EXIT STATUS", "0, or 1 if the database could not be reached, or another batch_stats is running.");
    line.section("EXAMPLES", "As a task of config.xml:\n<task><cmd>batch_stats</cmd><period>1 hour</period></task>");
    try {
        log_open({});
        if (const auto status = line.parse(argc, argv)) return *status;
        if (const std::string wrong = options.check(); !wrong.empty()) return line.fail(wrong);
        if (sleep_interval < 0 || incremental_above < 0) return line.fail("seconds can't be negative");
        const auto project = find_project_dir();
        const ProjectConfig config = load_config_and_warn(project);
        StatsSettings settings = stats_settings(config, options.rules(config.compat_level));
        settings.full = full;
        settings.cheap_full = incremental_above;
        settings.dry_run = dry_run;
        Database db(db_settings(config)), replica(replica_settings(config));
        const auto store = make_batch_stats_store(db, has_replica(config) ? replica : db);
        const auto versions = make_host_ltt_store(db);
        SystemClock clock;
        const auto rng = make_system_rng();
        DaemonSettings daemon;
        daemon.name = "batch_stats";
        daemon.project = project;
        daemon.lock_name = kStatsLock;
        daemon.one_pass = one_pass || dry_run || sleep_interval <= 0;
        daemon.sleep_interval = sleep_interval;
        StatsPass pass(settings, *store, *versions, clock);
        return run_daemon(daemon, {clock, *rng}, [&] {
            pass.run();
            return PassResult::kIdle;
        });
    } catch (const std::exception& e) {
        log_critical("{}", e.what());
        return 1;
    }
}
