// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_workunit_done(const MatchContext&, const Candidate&, const WorkunitFacts& f) {
    return f.canonical_resultid != 0 ? refuse(Reason::kWorkunitDone, static_cast<double>(f.canonical_resultid), 0)
                                     : feasible();
}
}  // namespace
const SlowRow kWorkunitDoneRow{.name = "workunit_done",
                               .check = check_workunit_done,
                               .doc = "The workunit has no canonical result.",
                               .for_no_host = true};
}  // namespace sluice::match
