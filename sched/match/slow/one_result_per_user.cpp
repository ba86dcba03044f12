// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_one_result_per_user(const MatchContext& x, const Candidate&, const WorkunitFacts& f) {
    return x.params.one_result_per_user_per_wu && f.results_of_user > 0
               ? refuse(Reason::kOneResultPerUser, f.results_of_user, 0)
               : feasible();
}
}  // namespace
const SlowRow kOneResultPerUserRow{
    .name = "one_result_per_user",
    .check = check_one_result_per_user,
    .doc = "<one_result_per_user_per_wu>: the volunteer never had an instance of this workunit."};
}  // namespace sluice::match
