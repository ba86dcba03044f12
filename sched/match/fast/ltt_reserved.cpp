// SPDX-License-Identifier: LGPL-3.0-or-later
// Seed 004, job selection: "if host is LTT boost job score, else don't send".
#include "sched/match/in_use.h"
#include "sched/match/turnaround.h"

namespace sluice::match {
namespace {

Verdict check_ltt_reserved(const MatchContext& x, const Candidate& c) {
    if (!is_reserved_kind(x, c) || turnaround_of(x, c) != Turnaround::kHigh) return feasible();
    const double most = x.params.ltt_reserve_timeout, waited = x.now - c.job.time_added;
    if (most <= 0) return refuse(Reason::kReservedForLtt, 0, 1);
    return waited >= most ? feasible() : refuse(Reason::kReservedForLtt, waited, most);
}

}  // namespace
const FastRow kLttReservedRow{
    .name = "ltt_reserved",
    .scope = Scope::kVersion,
    .check = check_ltt_reserved,
    .doc =
        "With <batch_accel>, high-priority jobs of accelerable apps wait for low-turnaround hosts, at most "
        "ltt_reserve_timeout seconds if that is set. Level 1: by app version.",
    .applies = uses_batch_acceleration};
}  // namespace sluice::match
