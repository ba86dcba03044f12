#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check(const MatchContext&, const Candidate&, const WorkunitFacts& f) {
    return f.error_mask != 0 ? refuse(Reason::kWorkunitError, f.error_mask, 0) : feasible();
}
}  // namespace
const SlowRow kWorkunitErrorRow{"workunit_error", check, true, false, "The workunit was cancelled or has failed."};
}  // namespace sluice::match
