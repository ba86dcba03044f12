// Seed 004, job selection: "if host is LTT boost job score, else don't send".
#include "sched/match/in_use.h"
#include "sched/match/turnaround.h"

namespace sluice::match {
namespace {

Verdict check(const MatchContext& x, const Candidate& c) {
    if (!is_reserved_kind(x, c) || turnaround_of(x, c) != Turnaround::kHigh) return feasible();
    if (x.params.compat_level <= 0) return refuse(Reason::kReservedForLtt, 0, 1);
    const double waited = x.now - c.job.time_added;
    if (x.params.ltt_reserve_timeout > 0 && waited >= x.params.ltt_reserve_timeout) return feasible();
    return refuse(Reason::kReservedForLtt, waited, x.params.ltt_reserve_timeout);
}

}  // namespace
const FastRow kLttReservedRow{
    "ltt_reserved", Scope::kVersion, check,
    "With <batch_accel>, high-priority jobs of accelerable apps wait for low-turnaround hosts; "
    "level 1: at most ltt_reserve_timeout seconds, and told apart by app version.",
    uses_batch_acceleration};
}  // namespace sluice::match
