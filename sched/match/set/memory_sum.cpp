// Level 1: while the request still has idle processors to fill, the jobs that fill them must fit in memory together.
// Jobs beyond that wait in the client's queue and take no memory.
#include <algorithm>
#include <functional>

#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check(const MatchContext& x, const Candidate& c, const Picked& p) {
    if (x.params.compat_level <= 0 || p.memory.empty()) return feasible();
    const auto type = static_cast<std::size_t>(c.offer->type);
    if (p.left.resource_specific && !(p.left.instances[type] > 0)) return feasible();
    std::vector<double> beside = p.memory;
    for (const JobOnHost& job : x.host.in_progress)
        if (job.memory > 0) beside.push_back(job.memory);
    std::sort(beside.begin(), beside.end(), std::greater<>());
    const auto others = static_cast<std::size_t>(std::max(x.host.usable_cpus - 1, 0));
    double left = x.host.usable_ram;
    for (std::size_t i = 0; i < std::min(others, beside.size()); ++i) left -= beside[i];
    const double plan_class = c.offer->choice.usage.mem_usage;
    const double need = plan_class > 0 ? plan_class : c.job.rsc_memory_bound;
    return need > left ? refuse(Reason::kMemorySet, left, need) : feasible();
}
}  // namespace
const SetRow kMemorySumRow{"memory_sum", check,
                           "Level 1: jobs that are to run at the same time fit in memory together."};
}  // namespace sluice::match
