#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check(const MatchContext& x, const Candidate&, const Picked& p) {
    const int most = x.user.max_jobs_in_progress;
    return most > 0 && p.in_progress_total >= most ? refuse(Reason::kUserJobLimit, p.in_progress_total, most)
                                                   : feasible();
}
}  // namespace
const SetRow kUserJobLimitRow{"user_job_limit", check, "The volunteer's own limit on jobs in progress (max_jobs)."};
}  // namespace sluice::match
