// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/memory/hr_census_store.h"

#include <limits>

namespace sluice {

std::string MemoryHrCensusStore::platform_of(Id host) const {
    const auto& versions = db_.host_app_versions.rows();
    auto newest = versions.upper_bound({host, std::numeric_limits<Id>::max()});
    while (newest != versions.begin() && (--newest)->first.first == host) {
        const AppVersion* version = db_.versions.get(newest->first.second);
        const Platform* platform = version == nullptr ? nullptr : db_.platforms.get(version->platformid);
        if (platform != nullptr) return platform->name;
    }
    return "";
}

void MemoryHrCensusStore::hosts(double min_expavg_credit, bool with_platforms, const Row& row) {
    db_.enter("hr_census.hosts");
    for (const auto& [id, host] : db_.hosts.rows())
        if (host.expavg_credit > min_expavg_credit) row(host, with_platforms ? platform_of(id) : "");
}

}  // namespace sluice
