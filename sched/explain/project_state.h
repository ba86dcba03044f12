// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What holds for every host: triggers, the feeder, apps that are not in the array's tables. Told before anything is
// said of the one host.
#include <filesystem>
#include <string>
#include <vector>

#include "sched/explain/report.h"
#include "sluice/db/feeder_store.h"
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

}  // namespace sluice
