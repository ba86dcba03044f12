// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_disk(const MatchContext& x, const Candidate& c) {
    return c.job.rsc_disk_bound > x.host.disk_available
               ? refuse(Reason::kDisk, x.host.disk_available, c.job.rsc_disk_bound)
               : feasible();
}
}  // namespace
const FastRow kDiskRow{.name = "disk",
                       .scope = Scope::kJobLast,
                       .check = check_disk,
                       .doc = "The host allows enough disk for the job alone."};
}  // namespace sluice::match
