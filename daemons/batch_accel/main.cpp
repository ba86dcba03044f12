// batch_accel: finds batches that are almost done and speeds up their last jobs: high priority, and one instance more
// where the running ones take too long. Stands for upstream's batch_accel.php.
#include <algorithm>
#include <limits>

#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/batch_accel/accel_pass.h"
#include "daemons/batch_stats/stats_options.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/daemon/daemon.h"

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

struct Options {
    static constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();
    static constexpr int kNone = std::numeric_limits<int>::min();
    double min_frac_done = kNotGiven, max_extra_frac = kNotGiven, stats_age = 3000, sleep_interval = 0;
    int max_not_done = kNone, max_extra_per_batch = kNone, max_extra_total = kNone;
    Id explain = kNone;  ///< then 0: not given
    bool dry_run = false, one_pass = false, no_stats = false;
};

void define_options(CommandLine& line, Options& o) {
    line.option(
        "--batch_accel_min_frac_done,--min_frac_done", o.min_frac_done,
        "part of its jobs that must be done, successfully or not; default more than 0.85, at level 1: at least 0.9");
    line.option("--batch_accel_max_not_done,--max_not_done", o.max_not_done,
                "a batch with fewer open jobs than this is accelerated too; default 20, at level 1: 0 (no such rule)");
    line.option(
        "--max_extra_frac", o.max_extra_frac,
        "extra instances of a batch: at most this part of its jobs, but 20 in any case; 0: no cap; default 0, at level 1: 0.1");
    line.option("--max_extra_per_batch", o.max_extra_per_batch, "extra instances of a batch; 0 (default): no cap");
    line.option("--max_extra_total", o.max_extra_total,
                "extra instances of all batches in progress; 0: no cap; default 0, at level 1: 10000");
    line.option("--explain", o.explain, "print every decision on this batch with its reason, write nothing", "BATCH");
    line.option("--stats_age", o.stats_age, "seconds for which batch_stats' results are used; default 3000");
    line.flag("--no_stats", o.no_stats, "use the flags as they are, don't run batch_stats' computation");
    line.flag("--dry_run", o.dry_run, "print what would be done, write nothing");
    line.flag("--one_pass", o.one_pass, "run once (the default)");
    line.option("--sleep_interval", o.sleep_interval, "run as a daemon, a pass every X seconds");
    line.debug_level_option();
    line.section("EXIT STATUS", "0, or 1 if the database could not be reached, or another batch_accel is running.");
    line.section("EXAMPLES",
                 "As a task of config.xml:\n<task><cmd>batch_accel</cmd><period>1 hour</period></task>\n\n"
                 "Why is batch 17 not done yet?\nbatch_accel --explain 17");
}

AccelRules rules_of(const Options& o, int level) {
    AccelRules r = accel_rules(level);
    const auto take = [](auto& target, auto given) {
        if (given >= 0) target = given;
    };
    take(r.min_frac_done, o.min_frac_done);
    take(r.max_not_done, o.max_not_done);
    take(r.max_extra_frac, o.max_extra_frac);
    take(r.max_extra_per_batch, o.max_extra_per_batch);
    take(r.max_extra_total, o.max_extra_total);
    return r;
}

/// "" or what is wrong.
std::string check(const Options& o) {
    if (o.min_frac_done > 1) return "--min_frac_done is a part of 1";
    if (o.explain != Options::kNone && o.explain <= 0) return "--explain takes the id of a batch";
    for (const double number : {o.min_frac_done, o.max_extra_frac, o.stats_age, o.sleep_interval})
        if (number < 0) return "thresholds and seconds can't be negative";
    for (const int number : {o.max_not_done, o.max_extra_per_batch, o.max_extra_total})
        if (number < 0 && number != Options::kNone) return "thresholds can't be negative";
    return "";
}

class Program {
  public:
    Program(const Options& options, const ProjectConfig& config)
        : options_(options),
          config_(config),
          db_(db_settings(config)),
          replica_(replica_settings(config)),
          accel_store_(make_batch_accel_store(db_)),
          upkeep_store_(make_batch_upkeep_store(db_)) {
        settings_.compat_level = config.compat_level;
        settings_.rules = rules_of(options, config.compat_level);
        settings_.dry_run = options.dry_run;
        settings_.explain = options.explain;
    }

    void pass() {
        const auto old = last_statistics();
        if (settings_.explain == 0 && !options_.dry_run && !options_.no_stats) run_statistics(old);
        if (const auto fresh = last_statistics()) settings_.verdicts = fresh->apps;
        AccelPass pass(settings_, *accel_store_, *upkeep_store_, clock_);
        settings_.explain != 0 ? pass.explain(settings_.explain) : pass.run();
    }

  private:
    std::optional<StatsSummary> last_statistics() const {
        std::string why;
        const auto reader = StateReader::open(stats_state_file(config_.project_dir), why);
        const StatsSettings here = stats_settings(config_, {});
        if (!reader || reader->summary().database != here.database) return std::nullopt;
        return reader->summary();
    }

    void run_statistics(const std::optional<StatsSummary>& old) {
        if (old && clock_.now_sec() - old->made_at < options_.stats_age && clock_.now_sec() >= old->made_at) return;
        if (!old && flags_are_somebody_elses()) return;
        const auto lock = try_stats_lock(config_.project_dir);
        if (!lock) {
            log_normal("batch_stats is running: its last results are used");
            return;
        }
        // By the thresholds of the last batch_stats, so that two tasks with different ones do not fight.
        StatsSettings settings = stats_settings(config_, old ? old->rules : stats_rules(config_.compat_level));
        const auto store = make_batch_stats_store(db_, has_replica(config_) ? replica_ : db_);
        const auto versions = make_host_ltt_store(db_);
        StatsPass(settings, *store, *versions, clock_).run();
    }

    bool flags_are_somebody_elses() {
        const auto apps = accel_store_->apps();
        const auto marked = std::find_if(apps.begin(), apps.end(), [](const App& a) { return a.n_size_classes == 1; });
        if (marked == apps.end()) return false;
        log_normal(
            "app {} is marked accelerable, though batch_stats never ran here: somebody else keeps the flags, they are used "
            "as they are; run batch_stats once to take over",
            marked->name);
        return true;
    }

    const Options& options_;
    const ProjectConfig& config_;
    Database db_, replica_;
    std::unique_ptr<BatchAccelStore> accel_store_;
    std::unique_ptr<BatchUpkeepStore> upkeep_store_;
    SystemClock clock_;
    AccelSettings settings_;
};

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    Options options;
    CommandLine line("batch_accel", "speed up the last jobs of batches that are almost done", kDescription);
    define_options(line, options);
    try {
        log_open({});
        if (const auto status = line.parse(argc, argv)) return *status;
        if (const std::string wrong = check(options); !wrong.empty()) return line.fail(wrong);
        options.explain = std::max<Id>(0, options.explain);
        DaemonSettings daemon;
        daemon.name = "batch_accel";
        daemon.project = find_project_dir();
        if (options.explain == 0) daemon.lock_name = "batch_accel";
        daemon.one_pass = options.one_pass || options.dry_run || options.explain != 0 || options.sleep_interval <= 0;
        daemon.sleep_interval = options.sleep_interval;
        const ProjectConfig config = load_config_and_warn(daemon.project);
        Program program(options, config);
        SystemClock clock;
        const auto rng = make_system_rng();
        return run_daemon(daemon, {clock, *rng}, [&] {
            program.pass();
            return PassResult::kIdle;
        });
    } catch (const std::exception& e) {
        log_critical("{}", e.what());
        return 1;
    }
}
