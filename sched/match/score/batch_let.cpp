#include "sched/match/rows.h"

namespace sluice::match {
namespace {
// result.priority = -LET: the least logical end time has the largest value, ranked like every priority.
double value(const MatchContext&, const Candidate& c) { return c.job.priority; }
}  // namespace
const ScoreRow kBatchLetRow{
    "batch_let",
    Scope::kJob,
    value,
    0,
    3,
    Ranking::kLogicalEndTimes,
    "Level 1: rank of the batch's logical end time among the candidates, least first (seed 000)."};
}  // namespace sluice::match
