// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/explain/live_project.h"

#include <fmt/format.h>

#include <iostream>
#include <iterator>

#include "config/db_settings.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/db/project_setup_store.h"
#include "sluice/match/policies.h"
#include "sluice/shmem/other_feeder.h"

namespace sluice {
namespace {

DbSettings read_only(DbSettings settings) {
    settings.read_only = true;
    return settings;
}

/// The configuration that decides: of another file, but on this project's array, database and folders.
LoadedConfig deciding_config(const LoadedConfig& live, const DecideBy& by) {
    LoadedConfig read = live;
    if (!by.config_file.empty()) {
        if (!fs::exists(by.config_file)) throw Error("--config " + by.config_file + ": there is no such file");
        read = load_config_file(by.config_file, live.config.project_dir);
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

std::unique_ptr<JobArray> attach(const ProjectConfig& config) {
    const JobArrayName name = job_array_name(config.shmem_key, config.project_dir);
    try {
        return JobArray::attach_read_only(name);
    } catch (const FeederNotRunning& e) {
        throw FeederNotRunning(e.what() + feeder_with_another_key(name.lock_file));
    }
}

ProjectFiles files_of(const ProjectConfig& config, const std::string& plan_class_file) {
    ProjectFiles files = load_project_files(config);
    if (plan_class_file.empty()) return files;
    files.plan_classes = PlanClasses::from_spec(text_of_file(plan_class_file), plan_class_file);
    for (const std::string& p : files.plan_classes.problems()) files.problems.push_back(p);
    return files;
}

}  // namespace

LiveProject::LiveProject(const std::filesystem::path& project, const DecideBy& by)
    : live_read(load_config(project)),
      read(deciding_config(live_read, by)),
      live(live_read.config),
      config(read.config),
      files(files_of(config, by.plan_class_file)),
      params(config),
      db(read_only(db_settings(live))),
      stores(db),
      feeder_store(make_feeder_store(db)),
      array(attach(live)),
      tables(array->tables()),
      apps{make_project_setup_store(db)->apps(), tables.get()} {}

ResourceOf LiveProject::resource_of() const {
    return
        [this](const std::string& plan_class) { return files.plan_classes.resource(plan_class, config.compat_level); };
}

HostRequest LiveProject::request_of(Id host, const Wish& wish) {
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
        request_of_host(*found, s.host_states.load(host, false), s.results.load(query), *tables, resource_of(), wish);
    made.request.code_sign_key = files.code_sign_key;
    return made;
}

SchedulerRequest read_request(const std::string& file, const ProjectConfig& config) {
    ParsedRequest parsed = parse_request(text_of_file(file), request_limits(config));
    if (!parsed.request) throw Error(file + " is no scheduler request: " + parsed.error);
    return std::move(*parsed.request);
}

}  // namespace sluice
