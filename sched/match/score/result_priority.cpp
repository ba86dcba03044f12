#include "sched/match/rows.h"

namespace sluice::match {
namespace {
double value(const MatchContext&, const Candidate& c) { return c.job.priority; }
}  // namespace
const ScoreRow kResultPriorityRow{"result_priority",
                                  Scope::kJob,
                                  value,
                                  1,
                                  4,
                                  Ranking::kPriorities,
                                  "result.priority as points; level 1: its rank among the candidates, in [-1,1]."};
}  // namespace sluice::match
