// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_user_job_limit(const MatchContext&, const Candidate&, const Picked& p) { return p.user_limit(); }
}  // namespace
const SetRow kUserJobLimitRow{.name = "user_job_limit",
                              .check = check_user_job_limit,
                              .doc = "The volunteer's own limit on jobs in progress (max_jobs)."};
}  // namespace sluice::match
