// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <map>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/db/sql.h"
#include "sluice/model/records.h"

namespace sluice {

/// By id. `where`: " WHERE ..." or "".
std::vector<App> all_apps(Database& db, SqlLiteral where);
/// What the size and batch daemons know of them: id, name and n_size_classes.
std::vector<App> size_classes_of_apps(Database& db, SqlLiteral where);

/// The geometric mean of rsc_fpops_est by size class, of the app's jobs among the newest workunits.
std::map<int, double> typical_sizes_of(Database& db, Id appid);

}  // namespace sluice
