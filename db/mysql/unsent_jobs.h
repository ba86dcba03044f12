// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The columns of an UnsentJob, for those who choose jobs: the feeder, and a request that looks beside the array.
#include "sluice/db/database.h"
#include "sluice/db/sql.h"
#include "sluice/model/unsent_job.h"

namespace sluice {

/// "SELECT …" of result `r` and workunit `w`.
Sql select_unsent_jobs();
UnsentJob read_unsent_job(const Rows& rows);

}  // namespace sluice
