// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_user_filter(const MatchContext& x, const Candidate& c) {
    if (!x.params.user_filter || c.job.batch == 0 || c.job.batch == x.user.id) return feasible();
    return refuse(Reason::kUserFilter, static_cast<double>(x.user.id), c.job.batch);
}
bool applies_user_filter(const MatchContext& x) { return x.params.user_filter; }
}  // namespace
const FastRow kUserFilterRow{
    .name = "user_filter",
    .scope = Scope::kJob,
    .check = check_user_filter,
    .doc = "With <user_filter>, workunit.batch is the id of the only user who may have the job.",
    .applies = applies_user_filter,
    .on_resend = true};
}  // namespace sluice::match
