// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/acceleration.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "daemons/batches/turnaround.h"
#include "daemons/batches/turnaround_options.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/daemon/daemon.h"

namespace sluice {

void AccelOptions::define(CommandLine& line) {
    line.option(
        "--batch_accel_min_frac_done,--min_frac_done", min_frac_done,
        "part of its jobs that must be done, successfully or not; default more than 0.85, at level 1: at least 0.9");
    line.option("--batch_accel_max_not_done,--max_not_done", max_not_done,
                "a batch with fewer open jobs than this is accelerated too; default 20, at level 1: 0 (no such rule)");
    line.option(
        "--late_after", late_after,
        "if half of a batch is done, count jobs first sent so many typical turnarounds ago as done, too; 0: never; "
        "default 0, at level 1: 3");
    line.option(
        "--max_extra_frac", max_extra_frac,
        "extra instances of a batch: at most this part of its jobs, but 20 in any case, and then of late jobs (--late_after) only; 0: no cap; default 0, at level 1: 0.1");
    line.option("--max_extra_per_batch", max_extra_per_batch, "extra instances of a batch; 0 (default): no cap");
    line.option("--max_extra_total", max_extra_total,
                "extra instances of all batches in progress; 0: no cap; default 0, at level 1: 10000");
    line.option("--stats_age", stats_age, "seconds for which batch_stats' results are used; default 3000");
    line.flag("--no_stats", no_stats, "use the flags as they are, don't run batch_stats' computation");
}

std::string AccelOptions::check() const {
    if (min_frac_done.value_or(0) > 1) return "--min_frac_done is a part of 1";
    if (max_extra_frac.value_or(0) > 100) return "--max_extra_frac: at most 100 times a batch's jobs; 0: no cap";
    for (const double number :
         {min_frac_done.value_or(0), max_extra_frac.value_or(0), late_after.value_or(0), stats_age})
        if (number < 0) return "thresholds and seconds can't be negative";
    for (const auto& number : {max_not_done, max_extra_per_batch, max_extra_total})
        if (number.value_or(0) < 0) return "thresholds can't be negative";
    return "";
}

AccelRules AccelOptions::rules(int compat_level) const {
    AccelRules r = accel_rules(compat_level);
    r.min_frac_done = min_frac_done.value_or(r.min_frac_done);
    r.max_not_done = max_not_done.value_or(r.max_not_done);
    r.late_after = late_after.value_or(r.late_after);
    r.max_extra_frac = max_extra_frac.value_or(r.max_extra_frac);
    r.max_extra_per_batch = max_extra_per_batch.value_or(r.max_extra_per_batch);
    r.max_extra_total = max_extra_total.value_or(r.max_extra_total);
    return r;
}

namespace {

constexpr int kPage = 500;  ///< workunits a transaction

}  // namespace

bool AccelPass::accelerable(const App& app) const {
    if (!app.accelerable()) return false;
    if (settings_.compat_level <= 0 || app.size_classes() == 0) return true;
    // The flag says "size classes"; whether there are hosts to accelerate with, only batch_stats' own file tells.
    const auto it = std::find_if(settings_.verdicts.begin(), settings_.verdicts.end(),
                                 [&](const auto& v) { return v.app == app.id; });
    return it == settings_.verdicts.end() || it->accelerable;
}

BatchFacts AccelPass::facts_of(const KeptBatch& kept) const {
    BatchFacts f;
    f.batch = kept.batch;
    f.progress = kept.progress;
    if (const auto app = apps_.find(kept.batch.app_id); app != apps_.end()) {
        f.app_name = app->second.name;
        f.accelerable = accelerable(app->second);
    }
    if (const auto it = accelerated_.find(kept.batch.id); it != accelerated_.end()) {
        f.touched = true;
        f.extra = it->second;
    }
    f.extra_total = extra_total_;
    return f;
}

std::optional<double> AccelPass::turnaround(const Batch& batch) {
    // Level 0: the median that batch_stats left; 0 means that it could not tell, not that jobs take no time.
    if (settings_.compat_level <= 0 && batch.expire_time > 0 && batch.expire_time < kExpireDate)
        return batch.expire_time;
    return store_.mean_turnaround(batch.id);
}

void AccelPass::apply(AccelWrite write, Totals& totals) {
    totals.marked += static_cast<int>(write.mark.size());
    totals.results += static_cast<int>(write.mark_results.size());
    totals.more += static_cast<int>(write.more.size());
    totals.given_back += static_cast<int>(write.restore.size() + write.lower.size());
    if (settings_.dry_run || write.empty()) return;
    if (!prepared_) store_.prepare();
    prepared_ = true;
    write.now = clock_.now_sec();
    store_.apply(write);
}

/// What the verdict rests on beside counts.
void AccelPass::count_late(BatchFacts& facts) {
    if (!late_jobs_matter(facts, settings_.rules)) return;
    facts.turnaround = turnaround(facts.batch);
    Id after = 0;
    while (facts.turnaround && !stop_requested()) {
        const auto jobs = store_.open_jobs(facts.batch.id, after, kPage);
        for (const OpenJob& job : jobs) facts.late += is_late(job, facts, settings_.rules, clock_.now_sec());
        if (jobs.size() < kPage) break;
        after = jobs.back().wu.id;
    }
}

void AccelPass::work_on(BatchFacts& facts, Totals& totals) {
    count_late(facts);
    const BatchVerdict verdict = judge(facts, settings_.rules);
    log_debug("[batch#{} {}] {}", facts.batch.id, facts.batch.name, text_of(verdict));
    if (!verdict.accelerate && !verdict.restore) return;
    (verdict.accelerate ? totals.accelerated : totals.restored) += 1;
    if (settings_.dry_run) fmt::print("batch {}: {}\n", facts.batch.id, text_of(verdict));
    if (verdict.accelerate && !facts.turnaround) facts.turnaround = turnaround(facts.batch);
    Id after = 0;
    while (!stop_requested()) {
        const auto jobs = store_.open_jobs(facts.batch.id, after, kPage);
        if (jobs.empty()) break;
        after = jobs.back().wu.id;
        std::vector<JobDecision> decisions;
        for (const OpenJob& job : jobs) {
            decisions.push_back(decide(job, verdict, facts, settings_.rules, clock_.now_sec()));
            log_debug("[WU#{} {}] {}", job.wu.id, job.wu.name, text_of(decisions.back()));
            if (settings_.dry_run) fmt::print("  WU {}: {}\n", job.wu.id, text_of(decisions.back()));
        }
        totals.open += static_cast<int>(jobs.size());
        apply(to_write(jobs, decisions, settings_.rules), totals);
        if (jobs.size() < kPage) break;
    }
    extra_total_ = facts.extra_total;
}

void AccelPass::load_shared() {
    apps_.clear();
    for (App& app : store_.apps()) apps_[app.id] = std::move(app);
    accelerated_ = store_.accelerated_batches();
    extra_total_ = 0;
}

void AccelPass::run() {
    const double started = clock_.now();
    load_shared();
    const UpkeepOutcome kept =
        keep_up(upkeep_, upkeep_.in_progress(clock_.now_sec()), clock_.now_sec(), settings_.dry_run);
    std::set<Id> open;
    for (const KeptBatch& k : kept.batches)
        if (k.batch.state == BatchState::kInProgress) open.insert(k.batch.id);
    std::vector<Id> over;
    for (const auto& [batch, extra] : accelerated_) {
        if (open.contains(batch)) {
            extra_total_ += extra;
        } else {
            over.push_back(batch);
        }
    }
    Totals totals;
    for (const KeptBatch& k : kept.batches) {
        if (stop_requested()) break;
        BatchFacts facts = facts_of(k);
        work_on(facts, totals);
    }
    if (!settings_.dry_run) store_.forget(over);
    log_normal(
        "{}pass: {} batches in progress ({} rows changed, {} complete now), {} accelerated, {} taken back; {} open jobs: {} and {} "
        "results made high priority, {} instances more, {} given their priority back; {:.3f} s",
        dry_run_words(settings_.dry_run), kept.batches.size(), kept.changed, kept.completed, totals.accelerated,
        totals.restored, totals.open, totals.marked, totals.results, totals.more, totals.given_back,
        clock_.now() - started);
}

void AccelPass::explain(Id id) {
    load_shared();
    for (const auto& [batch, extra] : accelerated_) extra_total_ += extra;
    const auto batch = upkeep_.batch(id);
    if (!batch) throw ConfigError("there is no batch " + std::to_string(id));
    const std::vector<Id> ids{id};
    const BatchProgress progress = upkeep_.progress(ids).front();
    BatchFacts facts = facts_of({updated_batch(*batch, progress, clock_.now_sec()), progress});
    count_late(facts);
    const BatchVerdict verdict = judge(facts, settings_.rules);
    facts.turnaround = turnaround(facts.batch);
    fmt::print("batch {} '{}', app {} ({}): {} jobs, {} successful, {} failed, {} open\n", id, facts.batch.name,
               facts.app_name, facts.accelerable ? "accelerable" : "not accelerable", progress.njobs, progress.success,
               progress.errors, progress.njobs - progress.done());
    fmt::print("{}\n", text_of(verdict));
    fmt::print("typical turnaround: {}; extra instances so far: {} of this batch, {} in all\n",
               facts.turnaround ? fmt::format("{:.0f} s", *facts.turnaround) : "not known", facts.extra,
               facts.extra_total);
    for (Id after = 0;;) {
        const auto jobs = store_.open_jobs(id, after, kPage);
        if (jobs.empty()) break;
        after = jobs.back().wu.id;
        for (const OpenJob& job : jobs) {
            const JobDecision d = decide(job, verdict, facts, settings_.rules, clock_.now_sec());
            fmt::print("WU {} {}: {} [{}]\n", job.wu.id, job.wu.name, text_of(d), name_of(d.instance));
        }
    }
}

AccelService::AccelService(const AccelOptions& options, const ProjectConfig& config, const AccelStores& stores,
                           Clock& clock)
    : Service(options.every), options_(options), config_(config), stores_(stores), clock_(clock) {
    settings_.rules = options.rules(config.compat_level);
    settings_.compat_level = config.compat_level;
    settings_.dry_run = options.dry_run;
}

Turn AccelService::turn() {
    const auto old = last_statistics();
    if (!options_.explain && !settings_.dry_run && !options_.no_stats) run_statistics(old);
    if (const auto fresh = last_statistics()) settings_.verdicts = fresh->apps;
    AccelPass pass(settings_, stores_.accel, stores_.upkeep, clock_);
    options_.explain ? pass.explain(*options_.explain) : pass.run();
    return idle();
}

std::optional<StatsSummary> AccelService::last_statistics() const {
    std::string why;
    const auto reader = StateReader::open(stats_state_file(config_.project_dir), why);
    const StatsSettings here = stats_settings(config_, {});
    if (!reader || reader->summary().database != here.database) return std::nullopt;
    return reader->summary();
}

void AccelService::run_statistics(const std::optional<StatsSummary>& old) {
    if (old && clock_.now_sec() - old->made_at < options_.stats_age && clock_.now_sec() >= old->made_at) return;
    if (!old && flags_are_somebody_elses()) return;
    const auto lock = try_stats_lock(config_.project_dir);
    if (!lock) {
        log_normal("batch_stats is running: its last results are used");
        return;
    }
    // By the thresholds of the last batch_stats, so that two tasks with different ones do not fight.
    StatsSettings settings = stats_settings(config_, old ? old->rules : stats_rules(config_.compat_level));
    StatsService(settings, stores_.stats, stores_.versions, clock_).run();
}

bool AccelService::flags_are_somebody_elses() {
    const auto apps = stores_.accel.apps();
    const auto marked = std::find_if(apps.begin(), apps.end(), [](const App& a) { return a.n_size_classes == 1; });
    if (marked == apps.end()) return false;
    log_normal(
        "app {} is marked accelerable, though batch_stats never ran here: somebody else keeps the flags, they are used "
        "as they are; run batch_stats once to take over",
        marked->name);
    return true;
}

}  // namespace sluice
