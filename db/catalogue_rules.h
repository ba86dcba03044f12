// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The decisions behind CatalogueStore, apart from SQL: the MySQL store and the fake of the tests share them.
#include <vector>

#include "sluice/model/project_tables.h"
#include "sluice/model/resource_of.h"

namespace sluice {

/// Client versions are major*10000 + minor*100 + release; older rows hold major*100 + minor.
int core_version_in_full(int version);

/// Upstream's choice among the versions that are not deprecated in the database: of each app, platform and plan class
/// the newest; where app.min_version is set also the older ones from min_version on, flagged `deprecated`: they serve
/// jobs that are pinned to a version number and nothing else. Of apps with homogeneous_app_version all that was not
/// chosen so, flagged likewise: workunits stay committed to the version that their first result ran with. Versions of
/// apps or platforms not in `tables` are dropped. In order of id.
std::vector<AppVersion> usable_versions(std::vector<AppVersion> versions, const ProjectTables& tables);

/// Position of a percentile in an ascending list of n > 0 values.
std::int64_t percentile_index(std::int64_t n, int percent);
/// Fewer hosts than this: upstream's fixed figures instead of statistics.
inline constexpr std::int64_t kMinHostsForPerf = 10;

struct CreditScales {
    std::vector<AppVersion> versions;  ///< with a new pfc_scale
    std::vector<App> apps;             ///< with a new min_avg_pfc
};
/// Upstream's normalisation of claimed credit: the mean claim of an app's versions, weighted by samples, is the
/// measure; a version's scale makes its mean claim equal to it. Only versions with more than 100 samples count. CPU
/// and GPU both measured: the lower of the two means. Only CPU, at least two versions: their mean. Only GPU: a tenth
/// of theirs (GPU peak speed overstates what an app gets). Otherwise the app keeps what it has.
/// Only rows whose value changes by more than rounding are in the answer.
CreditScales new_credit_scales(const std::vector<App>& apps, const std::vector<AppVersion>& versions,
                               const ResourceOf& resource);

}  // namespace sluice
