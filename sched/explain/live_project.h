// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What holds for every host: triggers, the feeder, apps that are not in the array's tables. Told before anything is
// said of the one host.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "sched/explain/host_request.h"
#include "sched/explain/report.h"
#include "sched/handle/project_files.h"
#include "sched/handle/rpc_services.h"
#include "sluice/db/feeder_store.h"
#include "sluice/db/mysql_rpc_stores.h"
#include "sluice/model/catalogue.h"
#include "sluice/shmem/job_array.h"

namespace sluice {

/// The project's apps as the database has them, deprecated ones too, beside those that the array was filled with.
struct KnownApps {
    std::vector<App> stored;
    const ProjectTables* tables = nullptr;
    const App* by_name(const std::string& name) const;
    /// Why the tables lack the app: "app up is deprecated: …".
    std::string why_missing(Id app) const;
};

/// Fills blocked_by and the notes on triggers and the feeder.
void tell_project_state(Report& report, const std::filesystem::path& project, const JobArrayStats& array, bool ready,
                        std::int64_t now);
/// Why an array holds no job.
std::string why_no_jobs(FeederStore& store, const KnownApps& apps, const JobArrayStats& array);
/// Fills Report::advice: which option set the limit that refused.
void name_the_limits(Report& report, const ProjectConfig& config);

// A project for dry runs: its configuration (or another that decides instead), its files, job array and database, all
// for reading only.

/// What decides instead of the project's own files; empty: those.
struct DecidingFiles {
    std::string config_file;            ///< database, array and folders are those of PROJECT/config.xml all the same
    std::string plan_class_file;        ///< instead of plan_class_spec.xml
    std::optional<int> compat_level{};  ///< instead of the file's own
};

/// Where the tables, and the jobs that wait, come from.
enum class ArrayUse {
    kNeeded,  ///< the array that our feeder fills
    kIfThere  ///< that one if it is ready; else `array` is null and the tables are those of the database
};

struct LiveProject {
    /// Throws Error: what is wrong with the files, the array or the database.
    LiveProject(const std::filesystem::path& project, const DecidingFiles& by, ArrayUse use = ArrayUse::kNeeded);

    /// A request as HOST#id would send it now. Throws Error if there is no such host, or nobody owns it.
    HostRequest request_of(Id host, const RequestedWork& wanted);
    /// As plan_class_spec.xml says.
    ResourceOf resource_of() const;

    const LoadedConfig live_read, read;
    const ProjectConfig &live, &config;  ///< the project's own; the one that decides
    ProjectFiles files;
    const MatchParams params;
    Database db;
    MysqlRpcStores stores;
    std::unique_ptr<FeederStore> feeder_store;
    std::unique_ptr<JobArray> array;  ///< null only with ArrayUse::kIfThere
    std::shared_ptr<const ProjectTables> tables;
    KnownApps apps;
};

/// A request as a client sent it; "-": standard input. Throws Error: what the file lacks to be one.
SchedulerRequest read_request(const std::string& file, const ProjectConfig& config);

}  // namespace sluice
