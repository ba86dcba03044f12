// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the scheduler knows of the project besides jobs: platforms, apps, versions, broadcast assignments, size
// quantiles, host statistics. Any number of rows; immutable once built; swapped whole (ARCHITECTURE §7).
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sluice/model/batch_plan.h"
#include "sluice/model/catalogue.h"

namespace sluice {

/// p_fpops over hosts with recent credit; upstream's defaults where fewer than 10 such hosts exist.
struct HostPerfInfo {
    double mean = 2.2e9, stddev = 0.7e9, median = 3.3e9, percentile95 = 3.3e9;
};

/// A batch in progress as the shares of users order it (seed 000).
struct BatchShare {
    Id user_id = 0;
    double end = 0;    ///< LET, project-seconds; infinite: its user has no quota, it comes after all others
    double quota = 0;  ///< of its user, by which draws are made; 0: it takes no part in them
};

/// The unfinished workunits that share a sticky input file, for locality (docs/locality.md).
struct FileGroup {
    /// s: with no work left for so long a group is over, and its hosts are to delete the file. Work that is made now
    /// and then should find it.
    static constexpr std::int64_t kOverAfter = 3600;
    std::string name;  ///< the file's physical name
    Id id = 0;
    Id first = 0, last = 0;       ///< between these its workunits lie; 0: there is none
    std::int64_t idle_since = 0;  ///< Unix time; 0: there is work, or was a minute ago
    bool over(std::int64_t now) const { return idle_since > 0 && now - idle_since >= kOverAfter; }
    friend bool operator==(const FileGroup&, const FileGroup&) = default;
};

/// workunit.batch of jobs that nobody submitted into a batch. A user may own them all the same.
inline constexpr Id kWithoutBatch = 0;

struct ProjectTables {
    std::vector<Platform> platforms;     ///< not deprecated, by id
    std::vector<App> apps;               ///< not deprecated, by id
    std::vector<AppVersion> versions;    ///< those that may be sent; `deprecated` = loaded only for pinned jobs
    std::vector<Assignment> broadcasts;  ///< assignments with multi != 0
    /// size_census quantiles by app id (ascending, size_classes()-1 values); no entry: sizes unknown.
    std::unordered_map<Id, std::vector<double>> size_quantiles;
    std::unordered_map<Id, BatchShare> batch_shares;  ///< by batch; empty: there are no shares
    BatchPlan plan;                                   ///< of batch_planner; version 0: there is none
    std::vector<FileGroup> file_groups;               ///< by name
    HostPerfInfo perf;
    bool has_turnaround_verdicts = false;  ///< batch_stats keeps some on (host, app version): sluice_host_ltt exists
    std::int64_t built_at = 0;

    const App* app(Id id) const;
    const App* app_by_name(std::string_view name) const;
    const Platform* platform_by_name(std::string_view name) const;
    const Platform* platform(Id id) const;
    const AppVersion* version(Id id) const;
    const FileGroup* file_group(std::string_view file) const;  ///< null: there is none
};

}  // namespace sluice
