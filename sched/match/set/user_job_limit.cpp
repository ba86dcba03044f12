#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check(const MatchContext&, const Candidate&, const Picked& p) { return p.user_limit(); }
}  // namespace
const SetRow kUserJobLimitRow{
    .name = "user_job_limit", .check = check, .doc = "The volunteer's own limit on jobs in progress (max_jobs)."};
}  // namespace sluice::match
