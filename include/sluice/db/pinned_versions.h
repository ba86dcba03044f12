// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Jobs that are pinned to a version number (workunit.app_version_num) wait for ever where the feeder keeps no such
// version of the app.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/records.h"

namespace sluice {

/// An app and a version number to which a job of it is pinned.
using PinnedVersion = std::pair<Id, int>;

/// A line for each of those that the feeder does not keep, in their order: why not, and what helps. Two statements at
/// most, however many there are.
std::vector<std::string> why_pinned_jobs_wait(Database& db, const std::set<PinnedVersion>& pins);
/// The same of one. "": the feeder keeps a version of that number, or there is no such app.
std::string why_pinned_job_waits(Database& db, Id appid, int version_num);

}  // namespace sluice
