// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_jobs_per_rpc(const MatchContext&, const Candidate&, const Picked& p) { return p.reply_limit(); }
}  // namespace
const SetRow kJobsPerRpcRow{.name = "jobs_per_rpc",
                            .check = check_jobs_per_rpc,
                            .doc = "A reply holds at most max_wus_to_send times CPUs and weighted GPUs."};
}  // namespace sluice::match
