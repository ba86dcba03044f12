// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_in_progress(const MatchContext& x, const Candidate& c, const Picked& p) {
    return in_progress_limits(x, p, &c.app, c.offer->counted_as);
}
}  // namespace
const SetRow kInProgressRow{.name = "in_progress",
                            .check = check_in_progress,
                            .doc = "Limits on jobs in progress: of the project and the app, in all and per resource."};
}  // namespace sluice::match
