// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/in_use.h"
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_hr_mismatch(const MatchContext&, const Candidate& c) {
    if (c.app.hr == HrType::kNone || c.job.hr_class == 0 || c.job.hr_class == c.app.host_hr_class) return feasible();
    return refuse(Reason::kHrClassMismatch, c.app.host_hr_class, c.job.hr_class);
}
}  // namespace
const FastRow kHrMismatchRow{
    .name = "hr_mismatch",
    .scope = Scope::kJob,
    .check = check_hr_mismatch,
    .doc = "A workunit that is committed to a homogeneous redundancy class goes to its hosts only.",
    .applies = any_app_with_hr,
    .on_resend = true};
}  // namespace sluice::match
