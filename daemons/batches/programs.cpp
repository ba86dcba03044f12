// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/programs.h"

#include <cstdio>
#include <filesystem>
#include <utility>

#include "config/db_settings.h"
#include "daemons/batches/acceleration.h"
#include "daemons/batches/gangs.h"
#include "daemons/batches/owners_page.h"
#include "daemons/batches/planner.h"
#include "daemons/batches/shares.h"
#include "daemons/batches/turnaround_options.h"
#include "daemons/batches/upkeep.h"
#include "daemons/batches/watch.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/db/batch_plan_store.h"
#include "sluice/db/batch_store.h"
#include "sluice/db/share_store.h"
#include "sluice/db/tables_version.h"

namespace sluice {
namespace {

/// What upstream's get_batch_params() does when a web page shows a batch: nothing depends on somebody who looks.
class UpkeepProgram final : public BatchProgram {
  public:
    DaemonProgram program() const override {
        return {
            .summary = "keep the counts and states of batches right",
            .description =
                "Computes njobs, nerror_jobs, fraction_done and credit_canonical of each batch in progress from its "
                "workunits. A batch becomes COMPLETE, with completion_time, when all its jobs have succeeded or "
                "failed. Only rows that change are written.",
            .settings = {.name = "batch_upkeep", .sleep_interval = 60, .lock_name = "batch_upkeep"},
            .has_dry_run = true};
    }
    void define_alone(CommandLine& line) override {
        line.id_option("--batch", only_, "only this batch, once, whatever its state");
        line.section("EXAMPLES",
                     "As a daemon of config.xml:\n<daemon><cmd>batch_upkeep</cmd></daemon>\n\n"
                     "batches and batch_accel do the same.");
    }
    bool enabled(const ProjectConfig&) const override { return true; }
    void settle(DaemonStart& start) const override { start.settings.one_pass |= only_.has_value(); }
    Service& service(const BatchSurroundings& here) override {
        const UpkeepOptions options{only_, here.dry_run, here.one_pass, here.every};
        return service_.emplace(here.batches, options, here.clock);
    }

  private:
    std::optional<Id> only_;
    std::optional<UpkeepService> service_;
};

/// Has no counterpart upstream.
class WatchProgram final : public BatchProgram {
  public:
    DaemonProgram program() const override {
        return {
            .summary = "warn of batches that are slow or late, stop those that fail, tell what happened",
            .description =
                "Looks after each batch in progress. It notes a batch as slow if half of its jobs that came back took ten "
                "times their estimate, as late if its end moves beyond what its first ETA promised, and as done. With "
                "<batch_stop_failing> it stops a batch of which nothing has succeeded when a tenth of its jobs, 10 at "
                "least, have failed on 3 hosts or more: as sluice_batch abort does.\n\n"
                "sluice_batch show and the status page show the notes. <batch_event_command> and <batch_event_mail> tell "
                "them to people. What can't be told is tried again, after a minute at first and every hour at last.\n\n"
                "--dry_run prints what a pass would note and stop.",
            .settings = {.name = "batch_watch", .sleep_interval = 60, .lock_name = "batch_watch"},
            .has_dry_run = true};
    }
    void define_alone(CommandLine& line) override {
        line.section("FILES", "The table sluice_batch_event: the notes, and what is still to be told.");
        line.section("EXAMPLES", "As a daemon of config.xml:\n<daemon><cmd>batch_watch</cmd></daemon>");
    }
    bool enabled(const ProjectConfig& config) const override {
        return config.compat_level > 0 || config.batch_stop_failing || !config.batch_event_command.empty() ||
               !config.batch_event_mail.empty();
    }
    Service& service(const BatchSurroundings& here) override {
        const WatchSettings settings{here.config.project_dir, here.config.batch_stop_failing, here.dry_run,
                                     here.one_pass, here.every};
        TellingSettings telling = telling_settings(here.config);
        watch_ = make_batch_watch_store(here.db), events_ = make_batch_event_store(here.db);
        plans_ = make_batch_plan_store(here.db), batches_ = make_batch_owner_store(here.db);
        shares_ = make_share_store(here.db);
        std::optional<SharesInUse> in_use;
        if (const auto rules = share_settings(here.config)) in_use.emplace(SharesInUse{*shares_, *rules});
        ending_.emplace(*batches_, std::move(in_use), here.clock);
        telling_.emplace(std::move(telling), *events_, here.clock);
        return service_.emplace(settings, WatchStores{*watch_, *plans_, *batches_}, *ending_, *telling_, here.clock);
    }

  private:
    std::unique_ptr<BatchWatchStore> watch_;
    std::unique_ptr<BatchEventStore> events_;
    std::unique_ptr<BatchPlanStore> plans_;
    std::unique_ptr<BatchOwnerStore> batches_;
    std::unique_ptr<ShareStore> shares_;
    std::optional<BatchEnding> ending_;
    std::optional<BatchTelling> telling_;
    std::optional<WatchService> service_;
};

class SharesProgram final : public BatchProgram {
  public:
    DaemonProgram program() const override {
        return {.summary = "keep the order of batches by their users' shares",
                .description =
                    "Keeps the logical start and end time of each batch in progress whose user has a quota "
                    "(user_submit). <share_rule> names the rule. Jobs of the batch with the least logical end time go "
                    "first.\n\n"
                    "sluice_batch gives its batches a place. This program gives one to batches of create_work --batch "
                    "and of web pages. With rule settled, measured work takes the place of estimates; errors and extra "
                    "instances count. A batch without a quota comes last. <jobs_without_batch> names the owner of jobs "
                    "without a batch.\n\n"
                    "--dry_run prints what a pass would charge, settle and place. It may run beside the daemon.",
                .settings = {.name = "batch_shares", .sleep_interval = 300, .lock_name = "batch_shares"},
                .has_dry_run = true};
    }
    void define(CommandLine& line) override {
        line.option(
            "--page", page_,
            "after each pass, write a page for owners of batches: progress, end, and each user's part of the work; "
            "relative to the project's folder",
            "FILE");
    }
    void define_alone(CommandLine& line) override {
        line.section("EXAMPLES",
                     "As a daemon of config.xml, with a page that the web server shows:\n"
                     "<daemon><cmd>batch_shares --page html/user/batches.html</cmd></daemon>");
    }
    bool enabled(const ProjectConfig& config) const override { return config.share_rule != ShareOrder::kOff; }
    Service& service(const BatchSurroundings& here) override {
        const auto rules = share_settings(here.config);
        if (!rules)
            throw ConfigError(
                "<share_rule> is off: set it to settled or seed in config.xml, or take batch_shares out of it");
        store_ = make_share_store(here.db);
        options_ = {here.every, *rules, here.config.compat_level, here.dry_run};
        options_.before_turn = [this, here] { find_owner(here); };
        if (!page_.empty()) options_.after_pass = [this, here](double now) { write_page(here, now); };
        return service_.emplace(options_, *store_, here.clock, here.notices);
    }

  private:
    /// Those that are not retired, the newest.
    static constexpr int kBatchesShown = 500;

    /// Once; not before the first turn, which the loop repeats until the database answers.
    void find_owner(const BatchSurroundings& here) {
        if (owner_is_known_) return;
        const OwnerWithoutBatch owner = owner_without_batch(here.config, *make_quota_store(here.db));
        if (!owner.problem.empty()) log_warning("{}", owner.problem);
        options_.rules.owner_without_batch = owner.user ? owner.user->id : 0;
        owner_is_known_ = true;
    }

    /// batch_upkeep, which keeps the rows of open batches, need not run.
    static void count_open(std::vector<OwnedBatch>& batches, BatchUpkeepStore& counts) {
        std::vector<Batch*> open;
        std::vector<Id> ids;
        for (OwnedBatch& b : batches)
            if (b.row.state == BatchState::kInit || b.row.state == BatchState::kInProgress)
                open.push_back(&b.row), ids.push_back(b.row.id);
        const auto counted = counts.progress(ids);
        for (std::size_t i = 0; i < open.size(); ++i) {
            const BatchProgress& p = counted[i];
            open[i]->njobs = p.njobs, open[i]->nerror_jobs = p.errors;
            open[i]->fraction_done = p.njobs > 0 ? static_cast<double>(p.done()) / p.njobs : 0;
        }
    }

    void write_page(const BatchSurroundings& here, double now) {
        OwnersPage page;
        page.project = here.config.long_name;
        page.now = now;
        page.eta_factors = make_batch_plan_store(here.db)->eta_factors();
        page.batches = make_batch_owner_store(here.db)->list({0, false, kBatchesShown});
        count_open(page.batches, here.batches);
        page.users = store_->users();
        page.days = store_->work_by_day(static_cast<std::int64_t>(now / 86400) - kDaysShown + 1);
        write_file_atomically(std::filesystem::path(here.config.project_dir) / page_, owners_page(page));
    }

    std::string page_;
    bool owner_is_known_ = false;
    SharesOptions options_;
    std::unique_ptr<ShareStore> store_;
    std::optional<SharesService> service_;
};

/// Seed 000: by when each batch in progress can be done, and on which hosts. Has no counterpart upstream.
class PlannerProgram final : public BatchProgram {
  public:
    DaemonProgram program() const override {
        return {
            .summary = "plan by when batches can be done, and on which hosts",
            .description =
                "Computes for each batch in progress, in their order: T, the least time by which all hosts together "
                "can have done it, with what earlier batches leave of them; H, the hosts that complete at least one "
                "job by T.\n\n"
                "The scheduler gets the plan with the feeder's tables. If <plan_batches> is on, it sends jobs of a "
                "planned batch to hosts in H only, with deadlines that make clients run them first. Then, or with "
                "--give_up, an instance that misses the plan is given up for another. What comes back by its "
                "deadline is still taken. Hosts on which jobs of batches keep failing are left out. "
                "batch.est_completion_time becomes the expected end.",
            .settings = {.name = "batch_planner", .sleep_interval = 60, .lock_name = "batch_planner"},
            .has_dry_run = true};
    }
    void define(CommandLine& line) override {
        line.flag("--give_up", settings_.give_up, "give up instances that miss the plan for another one");
        line.option(
            "--copies", settings_.copies,
            "copy a batch's last jobs if another host would be done sooner: at most this part of its jobs, 0 to 0.5; "
            "default 0, none. sluice_batch show says what they cost");
        line.option("--margin", settings_.rules.margin, "run times count so many times, 1 to 10; default 1.2");
        line.option("--horizon", settings_.rules.horizon,
                    "batches that take longer than so many seconds go to any "
                    "host; default a week");
    }
    void define_alone(CommandLine& line) override {
        line.id_option("--explain", explain_,
                       "print T of this batch, and which hosts are in H or why not; write nothing");
        line.section("EXAMPLES", "As a daemon of config.xml:\n<daemon><cmd>batch_planner</cmd></daemon>");
    }
    std::string check() const override {
        const PlanRules& rules = settings_.rules;
        if (!(rules.margin >= 1 && rules.margin <= 10)) return "--margin: a number from 1 to 10";
        if (!(rules.horizon >= 600 && rules.horizon <= 1e9)) return "--horizon: a number of seconds, 600 to 1e9";
        if (!(settings_.copies >= 0 && settings_.copies <= 0.5)) return "--copies: a part of a batch's jobs, 0 to 0.5";
        return "";
    }
    bool enabled(const ProjectConfig& config) const override { return config.plan_batches; }
    Service& service(const BatchSurroundings& here) override {
        if (settings_.copies > 0 && !here.config.one_result_per_host_per_wu && !here.config.one_result_per_user_per_wu)
            throw ConfigError(
                "--copies wants <one_result_per_host_per_wu> or <one_result_per_user_per_wu> in config.xml: else a copy may "
                "go to the host that has the job");
        if (explain_) require_known_tables(here.db);
        settings_.dry_run = here.dry_run || explain_;
        settings_.one_pass = here.one_pass;
        settings_.every = here.every;
        take_config(settings_, here.config);
        facts_ = make_batch_plan_facts_store(here.db);
        plans_ = make_batch_plan_store(here.db);
        project_ = here.config.project_dir;
        classes_ = load_plan_classes(project_);
        class_file_.watch({project_ / "plan_class_spec.xml"});
        settings_.before_turn = [this] {
            if (class_file_.changed()) read_classes_again();
        };
        planner_.emplace(settings_, PlannerStores{*facts_, *plans_, here.batches}, classes_, here.clock);
        return service_.emplace(settings_, *planner_, here.clock, here.notices);
    }
    bool answered() override {
        if (explain_) std::fputs(planner_->explain(*explain_).c_str(), stdout);
        return explain_.has_value();
    }

  private:
    /// Where the file can't be read the classes stay as they are.
    void read_classes_again() {
        try {
            classes_ = load_plan_classes(project_);
        } catch (const Error& e) {
            log_critical("{}; plans are made by the plan classes that were read before", e.what());
        }
    }

    PlannerSettings settings_;
    std::optional<Id> explain_;
    std::filesystem::path project_;
    std::unique_ptr<BatchPlanFactsStore> facts_;
    std::unique_ptr<BatchPlanStore> plans_;
    PlanClasses classes_;
    WatchedFiles class_file_;
    std::optional<BatchPlanner> planner_;
    std::optional<PlannerService> service_;
};

/// Seed 000, co-scheduling. Has no counterpart upstream.
class GangProgram final : public BatchProgram {
  public:
    DaemonProgram program() const override {
        return {
            .summary = "gather hosts for jobs that must run at the same time",
            .description =
                "Jobs of a gang (sluice_batch submit --gang_size) are sent only to hosts that are there at the same "
                "time. This program chooses hosts that are likely to stay on. The scheduler tells them when to come. "
                "When enough have come, each gets a member; until then they do other work. If too few come, they "
                "come again ten minutes later. A host that knew and missed three times is asked no more, and is "
                "trusted less.\n\n"
                "Without this program no job of a gang is sent. --dry_run prints what each gang waits for. See "
                "docs/gangs.md.",
            .settings = {.name = "gang_planner", .sleep_interval = 10, .lock_name = "gang_planner"},
            .has_dry_run = true};
    }
    void define_alone(CommandLine& line) override {
        line.section("EXAMPLES", "In config.xml:\n<daemon><cmd>gang_planner</cmd></daemon>");
    }
    bool enabled(const ProjectConfig& config) const override { return !config.gang_hub.empty(); }
    Service& service(const BatchSurroundings& here) override {
        leases_ = make_gang_lease_store(here.db);
        plans_ = make_batch_plan_store(here.db);
        const GangService::Settings settings{here.config.next_rpc_delay, here.config.daily_result_quota, here.dry_run,
                                             here.every};
        return service_.emplace(*leases_, *plans_, here.clock, settings);
    }

  private:
    std::unique_ptr<GangLeaseStore> leases_;
    std::unique_ptr<BatchPlanStore> plans_;
    std::optional<GangService> service_;
};

/// What batch_stats and batch_accel measure turnaround with.
struct TurnaroundStores {
    TurnaroundStores(const ProjectConfig& config, Database& db)
        : replica(replica_settings(config)),
          stats(make_batch_stats_store(db, has_replica(config) ? replica : db)),
          versions(make_host_ltt_store(db)) {}
    Database replica;
    std::unique_ptr<BatchStatsStore> stats;
    std::unique_ptr<HostLttStore> versions;
};

/// Stands for upstream's batch_accel.php.
class AccelProgram final : public BatchProgram {
  public:
    DaemonProgram program() const override {
        return {
            .summary = "speed up the last jobs of batches that are almost done",
            .description =
                "Brings the counts of each batch in progress up to date, as batch_upkeep does. If enough jobs of a "
                "batch are done and its app is accelerable, the others get priority 1, workunits and unsent results. "
                "A job gets one more instance under three conditions: none waits to be sent, the running ones are older "
                "than the batch's typical turnaround, and max_total_results allows it. The tables sluice_accel_job and "
                "sluice_accel_result keep the former values, which come back when the app is not accelerable any "
                "more. Finished jobs are never touched.\n\n"
                "It runs batch_stats' computation first, except in three cases: batch_stats did that less than "
                "--stats_age seconds ago; it never ran here while apps are marked accelerable; --no_stats is given.\n\n"
                "It runs once and exits, unless --sleep_interval is given.",
            .settings = {.name = "batch_accel",
                         .sleep_interval = 3600,
                         .one_pass_while_stopped = true,
                         .lock_name = "batch_accel"},
            .lifetime = Lifetime::kOnce,
            .has_dry_run = true};
    }
    void define(CommandLine& line) override { options_.define(line); }
    void define_alone(CommandLine& line) override {
        line.id_option("--explain", options_.explain,
                       "print every decision on this batch with its reason, write nothing");
        line.section("EXIT STATUS", "0, or 1 if the database could not be reached, or another batch_accel is running.");
        line.section("EXAMPLES",
                     "As a task of config.xml:\n<task><cmd>batch_accel</cmd><period>1 hour</period></task>\n\n"
                     "Why is batch 17 not done yet?\nbatch_accel --explain 17");
    }
    std::string check() const override { return options_.check(); }
    bool enabled(const ProjectConfig& config) const override { return config.compat_level > 0 || config.batch_accel; }
    void settle(DaemonStart& start) const override {
        if (!options_.explain) return;
        start.settings.one_pass = true;
        start.settings.lock_name.clear();  // it writes nothing
    }
    Service& service(const BatchSurroundings& here) override {
        options_.dry_run = here.dry_run;
        options_.every = here.every;
        accel_ = make_batch_accel_store(here.db);
        turnaround_.emplace(here.config, here.db);
        const AccelStores stores{*accel_, here.batches, *turnaround_->stats, *turnaround_->versions};
        return service_.emplace(options_, here.config, stores, here.clock);
    }

  private:
    AccelOptions options_;
    std::unique_ptr<BatchAccelStore> accel_;
    std::optional<TurnaroundStores> turnaround_;
    std::optional<AccelService> service_;
};

/// Stands for upstream's batch_stats.php; reads only what changed since its last run.
class StatsProgram final : public BatchProgram {
  public:
    DaemonProgram program() const override {
        return {.summary = "find the hosts that return jobs quickly, and the apps whose batches can be accelerated",
                .description =
                    "Computes for each batch the median turnaround time of its successful jobs, and stores it in "
                    "batch.expire_time. Computes for each host the mean of turnaround / median over its jobs. A host "
                    "below 1 has a low turnaround time (LTT): host.error_rate is 1, else 0. An app is accelerable if "
                    "more than 100 hosts have completed jobs of it, and more than a quarter of them are LTT: "
                    "app.n_size_classes is 1, else 0. Apps with size classes (2 and more) are left alone.\n\n"
                    "At compat_level 1 jobs that failed, timed out or run longer than the median count too. Old jobs "
                    "fade, and a verdict needs several jobs. The table sluice_host_ltt has verdicts on (host, app "
                    "version).\n\n"
                    "It runs once and exits, unless --sleep_interval is given.",
                .settings = {.name = "batch_stats", .one_pass_while_stopped = true, .lock_name = kStatsLock},
                .lifetime = Lifetime::kOnce,
                .has_dry_run = true};
    }
    void define_alone(CommandLine& line) override {
        rules_.define(line);
        line.option("--incremental_above", incremental_above_,
                    "read only what changed if reading everything took more than X seconds; default 1");
        line.flag("--full", full_, "read everything, not only what changed since the last run");
        line.section(
            "FILES",
            "PROJECT/batch_stats.state: what is known from the last run. You may delete it; the next run then reads "
            "everything. A run also reads everything once a day, and as long as that takes under a second "
            "(--incremental_above).");
        line.section("EXIT STATUS", "0, or 1 if the database could not be reached, or another batch_stats is running.");
        line.section("EXAMPLES",
                     "As a task of config.xml:\n<task><cmd>batch_stats</cmd><period>1 hour</period></task>");
    }
    std::string check() const override { return incremental_above_ < 0 ? "seconds can't be negative" : rules_.check(); }
    bool enabled(const ProjectConfig&) const override { return false; }
    Service& service(const BatchSurroundings& here) override {
        settings_ = stats_settings(here.config, rules_.rules(here.config.compat_level));
        settings_.full = full_;
        settings_.cheap_full = incremental_above_;
        settings_.dry_run = here.dry_run;
        settings_.every = here.every;
        stores_.emplace(here.config, here.db);
        return service_.emplace(settings_, *stores_->stats, *stores_->versions, here.clock);
    }

  private:
    StatsOptions rules_;
    bool full_ = false;
    double incremental_above_ = 1;
    StatsSettings settings_;
    std::optional<TurnaroundStores> stores_;
    std::optional<StatsService> service_;
};

}  // namespace

std::vector<std::unique_ptr<BatchProgram>> batch_programs() {
    std::vector<std::unique_ptr<BatchProgram>> all;
    all.push_back(std::make_unique<UpkeepProgram>());
    all.push_back(std::make_unique<WatchProgram>());
    all.push_back(std::make_unique<SharesProgram>());
    all.push_back(std::make_unique<PlannerProgram>());
    all.push_back(std::make_unique<GangProgram>());
    all.push_back(std::make_unique<AccelProgram>());
    return all;
}

std::unique_ptr<BatchProgram> batch_stats_program() { return std::make_unique<StatsProgram>(); }

}  // namespace sluice
