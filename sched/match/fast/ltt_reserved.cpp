// Seed 004, job selection: "if host is LTT boost job score, else don't send".
#include <algorithm>

#include "sched/match/rows.h"

namespace sluice::match {
namespace {

bool host_has_history(const HostFacts& host) {
    return std::any_of(host.versions.begin(), host.versions.end(),
                       [](const HostAppVersion& v) { return v.turnaround.n > 0; });
}

Verdict check(const MatchContext& x, const Candidate& c) {
    if (!x.params.batch_accel || !c.app.app->accelerable() || c.job.wu_priority <= 0) return feasible();
    if (x.host.row.low_turnaround()) return feasible();
    if (x.params.compat_level > 0) {
        const double waited = x.now - c.job.time_added;
        if (x.params.ltt_reserve_timeout > 0 && waited >= x.params.ltt_reserve_timeout) return feasible();
        // A host that has returned nothing yet is unknown, not slow.
        if (!host_has_history(x.host)) return feasible();
        return refuse(Reason::kReservedForLtt, waited, x.params.ltt_reserve_timeout);
    }
    return refuse(Reason::kReservedForLtt, 0, 1);
}

}  // namespace
const FastRow kLttReservedRow{"ltt_reserved", Scope::kJob, check,
                              "With <batch_accel>, high-priority jobs of accelerable apps wait for low-turnaround hosts; "
                              "level 1: at most ltt_reserve_timeout seconds."};
}  // namespace sluice::match
