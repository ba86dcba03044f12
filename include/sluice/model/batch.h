// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Rows of the database, as plain values. Names, units and meaning are those of db/schema.sql; times are
// UNIX seconds, sizes bytes, speeds flops per second. Only columns that some part of Sluice reads are here.
#include <cstdint>
#include <string>

#include "sluice/model/codes.h"

namespace sluice {

struct Batch {
    Id id = 0, user_id = 0, app_id = 0;
    std::int64_t create_time = 0;
    double logical_start_time = 0, logical_end_time = 0, est_completion_time = 0;
    int njobs = 0;
    double fraction_done = 0;
    int nerror_jobs = 0;
    BatchState state = BatchState::kInit;
    std::int64_t completion_time = 0;
    double credit_estimate = 0, credit_canonical = 0, credit_total = 0;
    std::string name;
    double expire_time = 0;  ///< batch_stats: median turnaround, s
};

}  // namespace sluice
