// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_workunit_error(const MatchContext&, const Candidate&, const WorkunitFacts& f) {
    return f.error_mask != 0 ? refuse(Reason::kWorkunitError, f.error_mask, 0) : feasible();
}
}  // namespace
const SlowRow kWorkunitErrorRow{.name = "workunit_error",
                                .check = check_workunit_error,
                                .doc = "The workunit was not cancelled and has not failed.",
                                .for_no_host = true};
}  // namespace sluice::match
