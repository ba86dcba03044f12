// SPDX-License-Identifier: LGPL-3.0-or-later
// Jobs that few hosts can take should go when a host can. Upstream's feeder marks jobs committed to an HR class from
// the start, and schedulers mark those found committed elsewhere.
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
double value_of_previously_infeasible(const MatchContext&, const Candidate& c) {
    return c.ref.infeasible_count > 0 || c.job.hr_class > 0 ? 1 : 0;
}
}  // namespace
const ScoreRow kPreviouslyInfeasibleRow{.name = "previously_infeasible",
                                        .scope = Scope::kJob,
                                        .value = value_of_previously_infeasible,
                                        .weight_level0 = 1,
                                        .weight_level1 = 1,
                                        .doc = "1 for a job that was committed to a class or version before."};
}  // namespace sluice::match
