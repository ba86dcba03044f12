// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>

#include "sluice/model/job_summary.h"

namespace sluice {

struct UnsentJob;
struct Result;
struct Workunit;

/// A job's rows as matching sees them, whether the feeder puts it into the array or the job comes from elsewhere (sent
/// again, assigned: no `time_added`). `reliable_on_priority` as in config.xml (0 = off).
JobSummary job_summary_of(const Workunit& workunit, const Result& result, int reliable_on_priority = 0,
                          std::int64_t time_added = 0);

/// "": a reply can carry the job's XML. Else what is wrong with which column; the feeder leaves such jobs out.
std::string why_unwritable(const UnsentJob& job);

}  // namespace sluice
