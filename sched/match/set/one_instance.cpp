// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>

#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_one_instance(const MatchContext& x, const Candidate& c, const Picked& p) {
    const bool applies =
        x.params.one_result_per_user_per_wu || x.params.one_result_per_host_per_wu || x.params.compat_level > 0;
    if (!applies) return feasible();
    const bool there = std::find(p.workunits.begin(), p.workunits.end(), c.job.workunit_id) != p.workunits.end();
    return there ? refuse(Reason::kOneInstancePerWorkunit, 1, 0) : feasible();
}
}  // namespace
const SetRow kOneInstanceRow{.name = "one_instance",
                             .check = check_one_instance,
                             .doc = "A reply holds one instance of a workunit. Level 0: if so configured."};
}  // namespace sluice::match
