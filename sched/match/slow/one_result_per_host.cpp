// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
// The stricter rule per user includes the host, unless its results belong to a former owner; upstream then looks at the
// user only, and so do we.
Verdict check_one_result_per_host(const MatchContext& x, const Candidate&, const WorkunitFacts& f) {
    if (!x.params.one_result_per_host_per_wu || x.params.one_result_per_user_per_wu) return feasible();
    return f.results_of_host > 0 ? refuse(Reason::kOneResultPerHost, f.results_of_host, 0) : feasible();
}
}  // namespace
const SlowRow kOneResultPerHostRow{
    .name = "one_result_per_host",
    .check = check_one_result_per_host,
    .doc = "<one_result_per_host_per_wu>: the host never had an instance of this workunit."};
}  // namespace sluice::match
