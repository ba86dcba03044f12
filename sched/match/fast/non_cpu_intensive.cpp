// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_non_cpu_intensive(const MatchContext&, const Candidate& c) {
    return c.app.app->non_cpu_intensive ? refuse(Reason::kNonCpuIntensive) : feasible();
}
}  // namespace
const FastRow kNonCpuIntensiveRow{
    .name = "non_cpu_intensive",
    .scope = Scope::kApp,
    .check = check_non_cpu_intensive,
    .doc = "Jobs of non-CPU-intensive apps go out in a scan of their own, one per app and host."};
}  // namespace sluice::match
