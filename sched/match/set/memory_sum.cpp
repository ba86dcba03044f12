// SPDX-License-Identifier: LGPL-3.0-or-later
// Level 1: while the request still has idle processors to fill, the jobs that fill them must fit in memory together.
// Jobs beyond that wait in the client's queue and take no memory.
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_memory_sum(const MatchContext& x, const Candidate& c, const Picked& p) {
    if (x.params.compat_level <= 0 || p.jobs == 0 || !c.fills_idle(p.left)) return feasible();
    const double left = x.host.usable_ram - p.memory.sum();
    return c.memory() > left ? refuse(Reason::kMemorySet, left, c.memory()) : feasible();
}
}  // namespace
const SetRow kMemorySumRow{.name = "memory_sum",
                           .check = check_memory_sum,
                           .doc = "Level 1: jobs that run at the same time fit in memory together."};
}  // namespace sluice::match
