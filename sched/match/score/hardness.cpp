#include <algorithm>

#include "sched/match/rows.h"

namespace sluice::match {
namespace {

double share(double need, double have) { return have > 0 && need > 0 ? std::min(need / have, 1.0) : 0; }

// How much of what this host offers the job needs, by its scarcest demand. A job that just fits here fits on few
// other hosts; one that this host hardly feels can go anywhere.
double value(const MatchContext& x, const Candidate& c) {
    const double time = share(c.runtime(), c.job.delay_bound);
    const double memory = share(c.job.rsc_memory_bound, x.host.usable_ram);
    const double disk = share(c.job.rsc_disk_bound, x.host.disk_available);
    return std::max({time, memory, disk});
}

}  // namespace
const ScoreRow kHardnessRow{
    "hardness",
    Scope::kVersion,
    value,
    0,
    2,
    Ranking::kNone,
    "Run time per deadline, memory or disk relative to the host, whichever is largest (seed 002)."};
}  // namespace sluice::match
