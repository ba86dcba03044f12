// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
// A host that reported no bandwidth is not slow but unmeasured.
Verdict check_bandwidth(const MatchContext& x, const Candidate& c) {
    if (!(c.job.rsc_bandwidth_bound > 0) || !(x.host.row.n_bwdown > 0)) return feasible();
    return x.host.row.n_bwdown < c.job.rsc_bandwidth_bound
               ? refuse(Reason::kBandwidth, x.host.row.n_bwdown, c.job.rsc_bandwidth_bound)
               : feasible();
}
bool applies_bandwidth(const MatchContext& x) { return x.host.row.n_bwdown > 0; }
}  // namespace
const FastRow kBandwidthRow{.name = "bandwidth",
                            .scope = Scope::kJobLast,
                            .check = check_bandwidth,
                            .doc = "The host's measured download speed reaches the job's bound.",
                            .applies = applies_bandwidth,
                            .on_resend = true};
}  // namespace sluice::match
