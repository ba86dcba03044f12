// SPDX-License-Identifier: LGPL-3.0-or-later
// Upstream compares the job's bound alone. Level 1 takes the plan class's own figure where there is one, and, while
// processors stand idle, counts what runs beside the new job: a job that could not start does not fill an idle one.
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_memory(const MatchContext& x, const Candidate& c) {
    const bool ours = x.params.compat_level > 0;
    const double need = ours ? c.memory() : c.job.rsc_memory_bound;
    if (need > x.host.usable_ram) return refuse(Reason::kMemory, x.host.usable_ram, need);
    if (!ours || !(c.app.memory_beside > 0) || !c.fills_idle(x.wanted)) return feasible();
    const double left = x.host.usable_ram - c.app.memory_beside;
    return need > left ? refuse(Reason::kMemory, left, need) : feasible();
}
}  // namespace
const FastRow kMemoryRow{.name = "memory",
                         .scope = Scope::kVersion,
                         .check = check_memory,
                         .doc = "Preferences leave enough memory. Level 1: beside what runs there.",
                         .on_resend = true};
}  // namespace sluice::match
