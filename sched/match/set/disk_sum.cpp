// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_disk_sum(const MatchContext& x, const Candidate& c, const Picked& p) {
    const double left = x.host.disk_available - p.disk;
    return c.job.rsc_disk_bound > left ? refuse(Reason::kDiskSet, left, c.job.rsc_disk_bound) : feasible();
}
}  // namespace
const SetRow kDiskSumRow{
    .name = "disk_sum", .check = check_disk_sum, .doc = "The jobs of this reply fit on the host's disk together."};
}  // namespace sluice::match
