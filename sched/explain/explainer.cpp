#include "explainer.h"

#include <fmt/format.h>

#include <iostream>
#include <iterator>

#include "config/db_settings.h"
#include "config/load.h"
#include "feeder/job_summary_of.h"
#include "project_state.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/db/mysql_rpc_stores.h"
#include "sluice/db/project_setup_store.h"
#include "sluice/match/policies.h"
#include "sluice/shmem/other_feeder.h"

namespace sluice {
namespace {

constexpr std::uint64_t kSeed = 1;  // the same answer each time: version choice and the scan's start are random

DbSettings read_only(DbSettings settings) {
    settings.read_only = true;
    return settings;
}

/// The configuration that decides: of another file, but on this project's array, database and folders.
LoadedConfig deciding_config(const LoadedConfig& live, const ExplainOptions& options) {
    LoadedConfig read = live;
    if (!options.config_file.empty()) {
        if (!fs::exists(options.config_file))
            throw Error("--config " + options.config_file + ": there is no such file");
        read = load_config_file(options.config_file, live.config.project_dir);
        read.config.project_dir = live.config.project_dir;
        read.config.key_dir = live.config.key_dir;
    }
    drop_unknown_weights(read, score_term_names());
    read.config.min_sendwork_interval = 0;  // "when", not "whether": a note says it
    read.config.decision_log = DecisionLog::kOff;
    return read;
}

std::string text_of_file(const std::string& file) {
    if (file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
    auto text = read_file(file);
    if (!text) throw Error(file + " does not exist");
    return std::move(*text);
}

std::string names_of(const std::vector<App>& apps) {
    std::string names;
    for (const App& a : apps) names += (names.empty() ? "" : ", ") + a.name + (a.deprecated ? " (deprecated)" : "");
    return names.empty() ? "none" : names;
}

std::unique_ptr<JobArray> attach(const ProjectConfig& config) {
    const JobArrayName name = job_array_name(config.shmem_key, config.project_dir);
    try {
        return JobArray::attach_read_only(name);
    } catch (const FeederNotRunning& e) {
        throw FeederNotRunning(e.what() + feeder_with_another_key(name.lock_file));
    }
}

struct Explainer {
    Explainer(const std::filesystem::path& project, const ExplainOptions& given);
    Report run();

    SchedulerRequest request_of_file() const;
    SchedulerRequest request_of_database(Report& report);
    PoolFilter filter() const;
    void find_job(DryJobPool& pool, Report& report);
    void add_notes(Report& report) const;

    const ExplainOptions& options;
    const LoadedConfig live_read, read;
    const ProjectConfig &live, &config;
    ProjectFiles files;
    MatchParams params;
    Database db;
    MysqlRpcStores stores;
    std::unique_ptr<FeederStore> feeder_store;
    std::unique_ptr<JobArray> array;
    std::shared_ptr<const ProjectTables> tables;
    KnownApps apps;
    SystemClock clock;
    std::unique_ptr<Rng> rng = make_seeded_rng(kSeed);
};

Explainer::Explainer(const std::filesystem::path& project, const ExplainOptions& given)
    : options(given),
      live_read(load_config(project)),
      read(deciding_config(live_read, given)),
      live(live_read.config),
      config(read.config),
      files(load_project_files(config)),
      params(match_params(config)),
      db(read_only(db_settings(live))),
      stores(db),
      feeder_store(make_feeder_store(db)),
      array(attach(live)),
      tables(array->tables()),
      apps{make_project_setup_store(db)->apps(), tables.get()} {
    if (!options.plan_class_file.empty()) {
        files.plan_classes = PlanClasses::from_spec(text_of_file(options.plan_class_file), options.plan_class_file);
        for (const std::string& p : files.plan_classes.problems()) files.problems.push_back(p);
    }
    params.min_slots = params.max_slots = params.max_locked = 0;  // every job is judged
}

SchedulerRequest Explainer::request_of_file() const {
    ParsedRequest parsed = parse_request(text_of_file(options.request_file), request_limits(config));
    if (!parsed.request) throw Error(options.request_file + " is no scheduler request: " + parsed.error);
    return std::move(*parsed.request);
}

SchedulerRequest Explainer::request_of_database(Report& report) {
    const RpcStores s = stores.stores();
    const auto found = s.accounts.host_and_account(options.host);
    if (!found) throw Error(fmt::format("there is no HOST#{}", options.host));
    if (found->host.userid == 0)
        throw Error(fmt::format("HOST#{} was merged into HOST#{}: use --host {}", options.host, found->host.rpc_seqno,
                                found->host.rpc_seqno));
    if (!found->account)
        throw Error(fmt::format("the account (USER#{}) of HOST#{} is gone", found->host.userid, options.host));
    ResultQuery query;
    query.in_progress_on_host = options.host;
    HostRequest made =
        request_of_host(*found, s.host_states.load(options.host, false), s.results.load(query), *tables, options.wish);
    made.request.code_sign_key = files.code_sign_key;
    report.assumed = std::move(made.assumed);
    const double passed = clock.now() - static_cast<double>(found->host.rpc_time);
    if (live.min_sendwork_interval > 0 && passed < live.min_sendwork_interval)
        report.notes.push_back(
            fmt::format("the host's last request was {:.0f} s ago: until <min_sendwork_interval> ({} s) has passed, it "
                        "gets nothing (too_recent)",
                        passed, live.min_sendwork_interval));
    return std::move(made.request);
}

PoolFilter Explainer::filter() const {
    PoolFilter f;
    if (options.app.empty()) return f;
    const App* app = tables->app_by_name(options.app);
    if (app == nullptr) {
        const App* stored = apps.by_name(options.app);
        throw Error("--app " + options.app + ": " +
                    (stored != nullptr ? apps.why_missing(stored->id)
                                       : "there is no such app; there are: " + names_of(apps.stored)));
    }
    f.app = app->id;
    return f;
}

/// --job: the array's copy if there is one, else the job as the feeder would put it there.
void Explainer::find_job(DryJobPool& pool, Report& report) {
    const RpcStores s = stores.stores();
    report.job = stand_of_job(options.job, s.results, *feeder_store, pool, apps, array->stats());
    if (const App* app = tables->app(report.job->job.workunit.appid);
        !options.app.empty() && app != nullptr && app->name != options.app)
        throw Error(fmt::format("--job {} is a job of app {}, not of --app {}", options.job, app->name, options.app));
    if (report.job->slot) {
        pool.show_only(report.job->job.result.id);
        return;
    }
    pool.show_only(-1);
    pool.add_outsider(job_summary_of(report.job->job, config.reliable_on_priority, clock.now_sec()),
                      slot_doc_of(report.job->job));
    if (report.job->result.server_state != ServerState::kUnsent)
        report.notes.push_back("the job is judged as if it were unsent");
}

void Explainer::add_notes(Report& report) const {
    for (const auto* problems : {&read.errors, &files.problems})
        report.notes.insert(report.notes.end(), problems->begin(), problems->end());
    const int most = config.mm_max_slots;
    if (most > 0 && static_cast<std::uint32_t>(most) < array->size())
        report.notes.push_back(fmt::format(
            "<mm_max_slots> {}: a real request looks at {} of the {} slots, from a random one on; here every job is judged",
            most, most, array->size()));
    if (config.mm_min_slots > 0 && static_cast<std::uint32_t>(config.mm_min_slots) < array->size())
        report.notes.push_back(fmt::format(
            "<mm_min_slots> {}: a real request stops after that many slots if it has enough; here every job is judged",
            config.mm_min_slots));
}

Report Explainer::run() {
    Report report;
    report.app = options.app;
    const SchedulerRequest request = options.host != 0 ? request_of_database(report) : request_of_file();
    DryJobPool pool(*array, filter());
    if (!options.job.empty()) find_job(pool, report);
    if (config.reliable_on_priority != live.reliable_on_priority) pool.mark_reliable(config.reliable_on_priority);
    RpcStores s = stores.stores();
    JudgedAsUnsent judged(s.results, report.job && !report.job->slot ? report.job->result : KnownResult{});
    RpcStores reading{s.accounts, s.host_states, judged, s.assignments, s.unit_of_work};
    RpcServices services{config, files, params, *tables, pool, reading, Env{clock, *rng}, request_limits(config)};
    services.ignore_seqno = true;
    tell_project_state(report, live.project_dir, array->stats(), array->ready(), clock.now_sec());
    add_notes(report);
    report.explanation = dry_run(services, pool, request);
    name_the_limits(report, config);
    if (report.explanation.search == Search::kArrayEmpty)
        report.no_jobs = why_no_jobs(*feeder_store, apps, array->stats());
    return report;
}

}  // namespace

Report explain_request(const std::filesystem::path& project, const ExplainOptions& options) {
    return Explainer(project, options).run();
}

}  // namespace sluice
