// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/explain/explainer.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "sched/explain/live_project.h"
#include "sluice/base/error.h"
#include "sluice/db/batch_plan_store.h"
#include "sluice/db/work_store.h"
#include "sluice/match/job_summary_of.h"

namespace sluice {
namespace {

std::string names_of(const std::vector<App>& apps) {
    std::string names;
    for (const App& a : apps) names += (names.empty() ? "" : ", ") + a.name + (a.deprecated ? " (deprecated)" : "");
    return names.empty() ? "none" : names;
}

std::string calendar_text(double time) {
    return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(time)));
}

struct Explainer {
    Explainer(const std::filesystem::path& folder, const ExplainOptions& given);
    Report run();

    SchedulerRequest request_of_database(Report& report);
    PoolFilter filter() const;
    void find_job(DryJobPool& pool, Report& report);
    void add_notes(Report& report) const;
    void add_gang_notes(Report& report);
    std::string what_it_waits_for(const GangId& gang);
    void add_scan_notes(Report& report) const;
    void name_the_pinned(const DryJobPool& pool, Report& report);

    const ExplainOptions& options;
    LiveProject project;
    MatchParams params;
    SystemClock clock;
    std::unique_ptr<Rng> rng;
};

Explainer::Explainer(const std::filesystem::path& folder, const ExplainOptions& given)
    : options(given),
      project(folder, {given.config_file, given.plan_class_file}),
      params(project.params),
      rng(make_seeded_rng(given.seed)) {
    if (!options.real_scan)
        params.mm_min_slots = params.mm_max_slots = params.mm_max_locked = 0;  // every job is judged
}

SchedulerRequest Explainer::request_of_database(Report& report) {
    HostRequest made = project.request_of(options.host, options.wanted);
    report.assumed = std::move(made.assumed);
    const double passed = clock.now() - static_cast<double>(made.request.host.rpc_time);
    if (const int least = project.live.min_sendwork_interval; least > 0 && passed < least)
        report.notes.push_back(
            fmt::format("the host's last request was {:.0f} s ago: until <min_sendwork_interval> ({} s) has passed, it "
                        "gets nothing (too_recent)",
                        passed, least));
    return std::move(made.request);
}

PoolFilter Explainer::filter() const {
    PoolFilter f;
    if (options.app.empty()) return f;
    const App* app = project.tables->app_by_name(options.app);
    if (app == nullptr) {
        const App* stored = project.apps.by_name(options.app);
        throw Error("--app " + options.app + ": " +
                    (stored != nullptr ? project.apps.why_missing(stored->id)
                                       : "there is no such app; there are: " + names_of(project.apps.stored)));
    }
    f.app = app->id;
    return f;
}

/// --job: the array's copy if there is one, else the job as the feeder would put it there.
void Explainer::find_job(DryJobPool& pool, Report& report) {
    if (const auto gang = make_gang_store(project.db)->gang_of(options.job))
        throw Error(
            fmt::format("--job {}: that is a member of gang {}.{}: it has no result that waits for a host; "
                        "gang_planner --dry_run says what the gang waits for (name a result that was sent){}",
                        options.job, gang->batch, gang->number, what_it_waits_for(*gang)));
    const RpcStores s = project.stores.stores();
    report.job =
        stand_of_job(options.job, s.results, *project.feeder_store, pool, project.apps, project.array->stats());
    if (const App* app = project.tables->app(report.job->job.workunit.appid);
        !options.app.empty() && app != nullptr && app->name != options.app)
        throw Error(fmt::format("--job {} is a job of app {}, not of --app {}", options.job, app->name, options.app));
    if (report.job->slot) {
        pool.show_only(report.job->job.result.id);
        return;
    }
    pool.show_only(-1);
    const Result& result = report.job->job.result;
    const Workunit& w = report.job->job.workunit;
    if (project.tables->app(w.appid) == nullptr) {
        // No host decides that: there is nothing to be judged.
        report.blocked_by.push_back(project.apps.why_missing(w.appid));
        return;
    }
    pool.add_outsider(job_summary_of(w, result, project.config.reliable_on_priority, clock.now_sec()),
                      {w.name, w.xml_doc, w.keywords, result.name});
    if (report.job->result.server_state != ServerState::kUnsent)
        report.notes.push_back("the job is judged as if it were unsent");
}

void Explainer::add_notes(Report& report) const {
    for (const auto* problems : {&project.read.errors, &project.files.problems})
        report.notes.insert(report.notes.end(), problems->begin(), problems->end());
    if (options.real_scan) return;
    const auto size = project.array->size();
    const auto bounds = [&](int slots) { return slots > 0 && static_cast<std::uint32_t>(slots) < size; };
    const ProjectConfig& config = project.config;
    if (bounds(config.mm_max_slots))
        report.notes.push_back(fmt::format(
            "<mm_max_slots> {}: a real request looks at {} of the {} slots, from a random one on; here every job is "
            "judged (but with --real_scan)",
            config.mm_max_slots, config.mm_max_slots, size));
    if (bounds(config.mm_min_slots))
        report.notes.push_back(fmt::format(
            "<mm_min_slots> {}: a real request stops after that many slots if it has enough; here every job is judged "
            "(but with --real_scan)",
            config.mm_min_slots));
}

std::string Explainer::what_it_waits_for(const GangId& gang) {
    const auto all = make_gang_store(project.db)->of_batch(gang.batch);
    if (all)
        for (const GangWait& w : all->waits)
            if (w.gang == gang) return "; " + gang_wait_text(w, calendar_text);
    return "";
}

/// Which jobs a host gets of gangs is not a scan's business.
void Explainer::add_gang_notes(Report& report) {
    if (options.host == 0) return;
    const GangHostStanding standing = make_gang_store(project.db)->standing_of(options.host);
    if (const auto& l = standing.lease) {
        const double from_now = static_cast<double>(l->start) - clock.now();
        report.notes.push_back(
            fmt::format("this host is to come {} for a member of gang {}.{}; {}",
                        from_now >= 0 ? fmt::format("in {:.0f} s", from_now) : fmt::format("since {:.0f} s", -from_now),
                        l->gang.batch, l->gang.number,
                        l->workunit == 0 ? "none is given to it yet (gang_planner --dry_run says why)"
                                         : fmt::format("it is given WU#{}", l->workunit)));
    } else if (standing.gangs) {
        report.notes.push_back(
            "jobs of gangs go only to hosts that gang_planner asks to come, and this one is not "
            "asked: gang_planner --dry_run says which hosts each gang waits for");
    }
    constexpr int kGangsNamed = 3;
    for (const GangWait& w : make_gang_store(project.db)->waiting(kGangsNamed))
        report.notes.push_back(gang_wait_text(w, calendar_text));
}

/// --real_scan: how far N and M let the scan come, and whether L was met.
void Explainer::add_scan_notes(Report& report) const {
    const MatchStats& stats = report.explanation.stats;
    if (!options.real_scan || report.explanation.search != Search::kDone) return;
    report.notes.push_back(fmt::format(
        "as a real request: looked at {} of {} slots (<mm_min_slots> {}, <mm_max_slots> {}), from a random one on (--seed {}); "
        "jobs of other slots are not judged",
        stats.slots_scanned, project.array->size(), params.mm_min_slots, params.mm_max_slots, options.seed));
    if (stats.locked_over_limit)
        report.notes.push_back(fmt::format("<mm_max_locked> {}: the scheduler would warn, {} slots were held by others",
                                           params.mm_max_locked, stats.slots_locked));
}

/// Of jobs that are pinned to a version which no host gets: why, and what helps.
void Explainer::name_the_pinned(const DryJobPool& pool, Report& report) {
    constexpr std::size_t kMost = 10;
    if (report.job) {
        const Workunit& w = report.job->job.workunit;
        const std::string why =
            w.app_version_num == 0 ? "" : why_pinned_job_waits(project.db, w.appid, w.app_version_num);
        if (!why.empty()) report.notes.push_back("the job is pinned (app_version_num): " + why);
        return;
    }
    std::set<PinnedVersion> pins;
    JobSummary job;
    SlotRef ref;
    for (std::uint32_t i = 0; i < pool.size(); ++i)
        if (pool.read(i, job, ref) == SlotState::kPresent && job.app_version_num != 0)
            pins.emplace(job.app_id, job.app_version_num);
    const std::vector<std::string> lines = why_pinned_jobs_wait(project.db, pins);
    for (std::size_t i = 0; i < std::min(lines.size(), kMost + 1); ++i)
        report.notes.push_back("jobs are pinned (app_version_num): " +
                               (i < kMost ? lines[i] : "more versions like these"));
}

Report Explainer::run() {
    Report report;
    report.app = options.app;
    const SchedulerRequest request =
        options.host != 0 ? request_of_database(report) : read_request(options.request_file, project.config);
    DryJobPool pool(*project.array, filter());
    if (!options.job.empty()) find_job(pool, report);
    const int reliable = project.config.reliable_on_priority;
    if (reliable != project.live.reliable_on_priority) pool.mark_reliable(reliable);
    RpcStores s = project.stores.stores();
    AsUnsentStore judged(s.results, report.job && !report.job->slot ? report.job->result : KnownResult{});
    RpcStores reading{s.accounts, s.host_states, judged, s.assignments, s.unit_of_work};
    RpcServices services{project.config, project.files, params,           *project.tables,
                         pool,           reading,       Env{clock, *rng}, request_limits(project.config)};
    services.ignore_seqno = true;
    tell_project_state(report, project.live.project_dir, project.array->stats(), project.array->ready(),
                       clock.now_sec());
    add_notes(report);
    add_gang_notes(report);
    report.explanation = dry_run(services, pool, request);
    add_scan_notes(report);
    name_the_limits(report, project.config);
    name_the_pinned(pool, report);
    if (report.explanation.search == Search::kArrayEmpty)
        report.no_jobs = why_no_jobs(*project.feeder_store, project.apps, project.array->stats());
    return report;
}

}  // namespace

Report explain_request(const std::filesystem::path& project, const ExplainOptions& options) {
    return Explainer(project, options).run();
}

}  // namespace sluice
