#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check(const MatchContext&, const Candidate&, const WorkunitFacts& f) {
    return f.canonical_resultid != 0 ? refuse(Reason::kWorkunitDone, static_cast<double>(f.canonical_resultid), 0)
                                     : feasible();
}
}  // namespace
const SlowRow kWorkunitDoneRow{"workunit_done", check, true, false, "The workunit has its canonical result already."};
}  // namespace sluice::match
