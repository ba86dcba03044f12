// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the feeder puts beside the jobs: platforms, apps, versions, broadcasts, host statistics; and the credit scales
// of app versions that it refreshes. Upstream: scan_tables, PERF_INFO, update_av_scales.
#include <cstdint>
#include <memory>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/project_tables.h"
#include "sluice/model/resource_of.h"

namespace sluice {

class CatalogueStore {
  public:
    virtual ~CatalogueStore() = default;

    /// Every platform, app and version that may be used, whatever their number; `perf` too. Left empty:
    /// size_quantiles (files, not rows) and built_at.
    virtual ProjectTables load_tables() = 0;

    /// At most so many file groups are kept in the tables: the newest.
    static constexpr int kMaxFileGroups = 20000;
    /// Takes what is done out of the file groups, a stretch of their workunits a call, notes which have no work left,
    /// and forgets those that have had none for 90 days. Then what load_tables() says of them.
    virtual std::vector<FileGroup> keep_file_groups(std::int64_t now) = 0;

    /// Recomputes app_version.pfc_scale and app.min_avg_pfc from the claimed credit of the versions and writes what
    /// changed. Returns the number of rows written. Tables loaded before keep their old values: load again.
    virtual int update_credit_scales(const ResourceOf& resource) = 0;

    /// INACTIVE results of apps that are not deprecated and have no size classes: nobody will release them. At most
    /// kInactiveLookedAt of an app are counted.
    struct Inactive {
        Id appid = 0;
        int size_class = -1;
        std::int64_t jobs = 0;
    };
    static constexpr int kInactiveLookedAt = 10000;
    virtual std::vector<Inactive> inactive_for_ever() = 0;

    /// Of apps that have size classes: INACTIVE results of a class of which none is UNSENT. Of an app with more than
    /// kInactiveLookedAt UNSENT results nothing is said.
    virtual std::vector<Inactive> inactive_and_none_unsent() = 0;
};

/// `db` outlives the store.
std::unique_ptr<CatalogueStore> make_catalogue_store(Database& db);

}  // namespace sluice
