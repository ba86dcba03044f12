// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/explain/live_project.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>

#include "config/db_settings.h"
#include "sched/match/picked.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/process.h"
#include "sluice/base/project.h"
#include "sluice/db/catalogue_store.h"
#include "sluice/db/project_setup_store.h"
#include "sluice/match/job_summary_of.h"
#include "sluice/match/policies.h"
#include "sluice/shmem/other_feeder.h"

namespace sluice {
namespace {

/// One limit on jobs in progress and where it is set.
struct SetLimit {
    JobLimit limit;
    int processors = 1;
    std::string option;
};

std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : " or ") + part;
    return text;
}

/// Those of the limits that are set and allow `allowed` jobs; all that are set, if none does.
std::string options_of(const std::vector<SetLimit>& limits, double allowed) {
    std::vector<std::string> all, exact;
    for (const SetLimit& l : limits) {
        if (l.limit.jobs <= 0) continue;
        all.push_back(l.option);
        if (match::allowed_jobs(l.limit, l.processors) == static_cast<int>(allowed)) exact.push_back(l.option);
    }
    return joined(exact.empty() ? all : exact);
}

std::vector<SetLimit> limits_of(const JobLimits& limits, const HostFacts& host, const std::string& where) {
    const auto in_aux = [&](const char* tag, const JobLimit& l) {
        return fmt::format("<{}> {}{} of {} in config_aux.xml", tag, l.jobs, l.per_proc ? " per processor" : "", where);
    };
    const int cpus = match::limit_processors(host, ProcType::kCpu);
    std::vector<SetLimit> set{{{limits.total.jobs, false}, 1, in_aux("total_limit", {limits.total.jobs, false})},
                              {limits.cpu, cpus, in_aux("cpu_limit", limits.cpu)}};
    for (int t = 1; t < kProcTypes; ++t) {
        const int gpus = match::limit_processors(host, static_cast<ProcType>(t));
        if (gpus > 0) set.push_back({limits.gpu, gpus, in_aux("gpu_limit", limits.gpu)});
    }
    return set;
}

/// max_wus_in_progress and max_wus_in_progress_gpu stand for limits that config_aux.xml does not set.
void name_options_of_config_xml(std::vector<SetLimit>& limits, const ProjectConfig& config) {
    const JobLimits& merged = config.max_jobs_in_progress.project;
    for (SetLimit& l : limits) {
        if (l.limit == merged.cpu && merged.cpu == JobLimit{config.max_wus_in_progress, true})
            l.option = fmt::format("<max_wus_in_progress> {} in config.xml", config.max_wus_in_progress);
        else if (l.limit == merged.gpu && merged.gpu == JobLimit{config.max_wus_in_progress_gpu, true})
            l.option = fmt::format("<max_wus_in_progress_gpu> {} in config.xml", config.max_wus_in_progress_gpu);
    }
}

}  // namespace

const App* KnownApps::by_name(const std::string& name) const {
    const auto it = std::find_if(stored.begin(), stored.end(), [&](const App& a) { return a.name == name; });
    return it == stored.end() ? nullptr : &*it;
}

std::string KnownApps::why_missing(Id id) const {
    const auto it = std::find_if(stored.begin(), stored.end(), [&](const App& a) { return a.id == id; });
    if (it == stored.end()) return fmt::format("there is no app {} in the database", id);
    if (it->deprecated)
        return fmt::format(
            "app {} is deprecated: the feeder leaves its jobs out until app.deprecated is 0 and reread_db was touched",
            it->name);
    return fmt::format("app {} was added after the feeder read the tables: touch reread_db", it->name);
}

void tell_project_state(Report& report, const std::filesystem::path& project, const JobArrayStats& array, bool ready,
                        std::int64_t now) {
    for (const TriggerFile& t : triggers_present(project))
        (t.stops_scheduler ? report.blocked_by : report.notes).push_back(trigger_text(t));
    const std::string sign = fmt::format("PID {}, last sign of life {} s ago", array.feeder.pid,
                                         std::max<std::int64_t>(now - array.feeder_heartbeat, 0));
    const bool alive = is_alive(array.feeder);
    if (!ready)
        report.blocked_by.push_back(fmt::format(
            "the feeder {}: clients are told that the project is down",
            alive ? "has not completed its first fill" : "has stopped (" + sign + "); start it with bin/start"));
    else if (!alive)
        report.notes.push_back(fmt::format(
            "the feeder does not run ({}): it was killed or crashed. Schedulers go on to send what is left in the array, and "
            "nobody refills it; start it with bin/start",
            sign));
}

/// Of the first ones those that no reply can carry; "": none.
std::string unwritable_text(FeederStore& store, const std::vector<UnsentRow>& unsent) {
    constexpr std::size_t kMost = 200;
    std::vector<Id> ids;
    for (const UnsentRow& row : unsent)
        if (ids.size() < kMost) ids.push_back(row.id);
    int n = 0;
    std::string example;
    for (const UnsentJob& job : store.load(ids)) {
        const std::string why = why_unwritable(job);
        if (!why.empty() && n++ == 0) example = fmt::format("RESULT#{}: {}", job.result.id, why);
    }
    return n == 0 ? "" : fmt::format("; of the first {}, no reply can carry {} ({})", ids.size(), n, example);
}

std::string why_no_jobs(FeederStore& store, const KnownApps& apps, const JobArrayStats& array) {
    constexpr int kMost = 1000;
    const auto unsent = store.unsent_page({}, WalkOrder::kPriorityDown, {}, kMost);
    if (unsent.empty()) return "there are no unsent results";
    std::map<Id, int> by_app;
    for (const UnsentRow& row : unsent) ++by_app[row.app_id];
    std::string text = unsent.size() == 1       ? "1 unsent result waits"
                       : unsent.size() == kMost ? fmt::format("at least {} unsent results wait", kMost)
                                                : fmt::format("{} unsent results wait", unsent.size());
    bool all_missing = true;
    for (const auto& [app, n] : by_app) {
        if (apps.tables->app(app) != nullptr)
            all_missing = false;
        else
            text += fmt::format("; {}: {}", n, apps.why_missing(app));
    }
    if (all_missing) return text;
    text += unwritable_text(store, unsent);
    if (!is_alive(array.feeder)) return text + "; the feeder does not run";
    return text + "; the feeder has not come to the others yet, lets them rest, or leaves them out by its options";
}

void name_the_limits(Report& report, const ProjectConfig& config) {
    const Explanation& e = report.explanation;
    const auto of = [&](Reason r) -> const ReasonCount& { return e.stats.reasons[static_cast<std::size_t>(r)]; };
    const ReasonCount& project = of(Reason::kInProgressLimit);
    if (project.count > 0) {
        auto limits = limits_of(config.max_jobs_in_progress.project, e.facts, "<project>");
        name_options_of_config_xml(limits, config);
        report.advice[Reason::kInProgressLimit] =
            "Raise " + options_of(limits, project.nearest.required) + "; the host gets more when its jobs are done.";
    }
    const ReasonCount& app = of(Reason::kAppInProgressLimit);
    if (app.count == 0) return;
    std::vector<SetLimit> limits;
    for (const auto& [name, of_app] : config.max_jobs_in_progress.apps) {
        const auto more = limits_of(of_app, e.facts, "<app_name>" + name + "</app_name>");
        limits.insert(limits.end(), more.begin(), more.end());
    }
    report.advice[Reason::kAppInProgressLimit] =
        "Raise " + options_of(limits, app.nearest.required) + "; the host gets more when its jobs are done.";
}

namespace {

DbSettings read_only(DbSettings settings) {
    settings.read_only = true;
    return settings;
}

/// The file as it would be with another <compat_level>: its last word counts.
LoadedConfig config_at_level(const std::string& file, const fs::path& project, int level) {
    std::string text = read_file(file).value_or("");
    const std::size_t end = text.rfind("</config>");
    if (end == std::string::npos) throw Error(file + " has no </config>");
    text.insert(end, fmt::format("<compat_level>{}</compat_level>", level));
    const fs::path aux = project / "config_aux.xml";
    LoadedConfig read = parse_config(text, file, read_file(aux).value_or(""), aux.string());
    if (read.config.compat_level != level)
        throw Error(fmt::format("{}: <compat_level> {} can't be put in", file, level));
    return read;
}

/// The configuration that decides: of another file, but on this project's array, database and folders.
LoadedConfig deciding_config(const LoadedConfig& live, const DecidingFiles& by) {
    LoadedConfig read = live;
    const fs::path project = live.config.project_dir;
    if (!by.config_file.empty() && !fs::exists(by.config_file))
        throw Error("--config " + by.config_file + ": there is no such file");
    const std::string file = by.config_file.empty() ? (project / "config.xml").string() : by.config_file;
    if (by.compat_level)
        read = config_at_level(file, project, *by.compat_level);
    else if (!by.config_file.empty())
        read = load_config_file(file, project);
    read.config.project_dir = live.config.project_dir;
    read.config.key_dir = live.config.key_dir;
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

std::unique_ptr<JobArray> attach(const ProjectConfig& config, ArrayUse use) {
    const JobArrayName name = job_array_name(config.shmem_key, config.project_dir);
    try {
        auto array = JobArray::attach_read_only(name);
        return use == ArrayUse::kNeeded || array->ready() ? std::move(array) : nullptr;
    } catch (const FeederNotRunning& e) {
        if (use == ArrayUse::kIfThere) return nullptr;
        throw FeederNotRunning(e.what() + feeder_with_another_key(name.lock_file));
    }
}

/// As a feeder would publish them, but for the quantiles of size classes.
std::shared_ptr<const ProjectTables> tables_of_database(Database& db, const ProjectConfig& config) {
    auto tables = std::make_shared<ProjectTables>(make_catalogue_store(db)->load_tables());
    if (!config.gives_an_owner_to_jobs_without_batch()) tables->batch_shares.erase(kWithoutBatch);
    return tables;
}

ProjectFiles files_of(const ProjectConfig& config, const std::string& plan_class_file) {
    ProjectFiles files = load_project_files(config);
    if (plan_class_file.empty()) return files;
    files.plan_classes = PlanClasses::from_spec(text_of_file(plan_class_file), plan_class_file);
    for (const std::string& p : files.plan_classes.problems()) files.problems.push_back(p);
    return files;
}

}  // namespace

LiveProject::LiveProject(const std::filesystem::path& project, const DecidingFiles& by, ArrayUse use)
    : live_read(load_config(project)),
      read(deciding_config(live_read, by)),
      live(live_read.config),
      config(read.config),
      files(files_of(config, by.plan_class_file)),
      params(config),
      db(read_only(db_settings(live))),
      stores(db),
      feeder_store(make_feeder_store(db)),
      array(attach(live, use)),
      tables(array ? array->tables() : tables_of_database(db, live)),
      apps{make_project_setup_store(db)->apps(), tables.get()} {}

ResourceOf LiveProject::resource_of() const {
    return
        [this](const std::string& plan_class) { return files.plan_classes.resource(plan_class, config.compat_level); };
}

HostRequest LiveProject::request_of(Id host, const RequestedWork& wanted) {
    const RpcStores s = stores.stores();
    const auto found = s.accounts.host_and_account(host);
    if (!found) throw Error(fmt::format("there is no HOST#{}", host));
    if (found->host.userid == 0)
        throw Error(fmt::format("HOST#{} was merged into HOST#{}: use --host {}", host, found->host.rpc_seqno,
                                found->host.rpc_seqno));
    if (!found->account) throw Error(fmt::format("the account (USER#{}) of HOST#{} is gone", found->host.userid, host));
    ResultQuery query;
    query.in_progress_on_host = host;
    HostRequest made =
        request_of_host(*found, s.host_states.load(host, false), s.results.load(query), *tables, resource_of(), wanted);
    made.request.code_sign_key = files.code_sign_key;
    return made;
}

SchedulerRequest read_request(const std::string& file, const ProjectConfig& config) {
    ParsedRequest parsed = parse_request(text_of_file(file), request_limits(config));
    if (!parsed.request) throw Error(file + " is no scheduler request: " + parsed.error);
    return std::move(*parsed.request);
}

}  // namespace sluice
