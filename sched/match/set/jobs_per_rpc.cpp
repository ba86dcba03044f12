#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check(const MatchContext&, const Candidate&, const Picked& p) {
    return p.jobs >= p.max_jobs ? refuse(Reason::kJobsPerRpcLimit, p.jobs, p.max_jobs) : feasible();
}
}  // namespace
const SetRow kJobsPerRpcRow{"jobs_per_rpc", check, "max_wus_to_send, times CPUs and weighted GPUs, in one reply."};
}  // namespace sluice::match
