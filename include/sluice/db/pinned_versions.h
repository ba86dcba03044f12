#pragma once
// Jobs that are pinned to a version number (workunit.app_version_num) wait for ever where the feeder keeps no such
// version of the app.
#include <string>

#include "sluice/db/database.h"
#include "sluice/model/records.h"

namespace sluice {

/// "": the feeder keeps a version of that number, or there is no such app. Else one line: why not, and what helps.
std::string why_pinned_job_waits(Database& db, Id appid, int version_num);

}  // namespace sluice
