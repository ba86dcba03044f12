// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/in_use.h"
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
double value_of_hr_committed(const MatchContext&, const Candidate& c) {
    return c.app.hr != HrType::kNone && c.job.hr_class != 0 && c.job.hr_class == c.app.host_hr_class ? 1 : 0;
}
}  // namespace
const ScoreRow kHrCommittedRow{.name = "hr_committed",
                               .scope = Scope::kJob,
                               .value = value_of_hr_committed,
                               .weight_level1 = 2,
                               .doc = "1 for a workunit already committed to this host's HR class.",
                               .applies = any_app_with_hr};
}  // namespace sluice::match
