// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>

#include "sched/match/rows.h"

namespace sluice::match {
namespace {

// `share`, or need / have if that is more (at most 1). Divides only then: this is asked for each slot and resource.
double more_of(double share, double need, double have) {
    return have > 0 && need > share * have ? std::min(need / have, 1.0) : share;
}

// How much of what this host offers the job needs, by its scarcest demand. A job that just fits here fits on few
// other hosts; one that this host hardly feels can go anywhere.
double value_of_hardness(const MatchContext& x, const Candidate& c) {
    const double time = more_of(0, c.runtime(), c.job.delay_bound);
    const double memory = more_of(time, c.job.rsc_memory_bound, x.host.usable_ram);
    return more_of(memory, c.job.rsc_disk_bound, x.host.disk_available);
}

}  // namespace
const ScoreRow kHardnessRow{.name = "hardness",
                            .scope = Scope::kVersion,
                            .value = value_of_hardness,
                            .weight_level1 = 2,
                            .doc = "The largest of run time per deadline, memory and disk, relative to the host."};
}  // namespace sluice::match
