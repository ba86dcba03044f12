// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Rows of host_app_version inside a transaction of another store.
#include <map>
#include <set>
#include <utility>

#include "sluice/db/database.h"
#include "sluice/model/records.h"

namespace sluice {

using HostVersionKey = std::pair<Id, Id>;  ///< host, generalized version

/// Locks those that exist, in order of their keys. Only what a penalty changes is read.
std::map<HostVersionKey, HostAppVersion> lock_host_versions(Database& db, const std::set<HostVersionKey>& keys);

/// For a key without a row: the row of the newest other version of the same app, platform and plan class on that host
/// is taken over (upstream: a new version inherits what is known of the old one), but none of `in_use`; without one, a
/// new row.
HostAppVersion adopted_host_version(Database& db, HostVersionKey key, const std::set<HostVersionKey>& in_use);

/// Writes turnaround, quota and consecutive_valid; all rows exist.
void save_penalties(Database& db, const std::map<HostVersionKey, HostAppVersion>& versions);

}  // namespace sluice
