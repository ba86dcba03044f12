#include "sched/match/rows.h"

namespace sluice::match {
namespace {
double value(const MatchContext& x, const Candidate& c) {
    return x.params.batch_accel && c.app.app->accelerable() && c.job.wu_priority > 0 && x.host.row.low_turnaround() ? 1 : 0;
}
}  // namespace
const ScoreRow kLttMatchRow{"ltt_match", Scope::kJob, value, 10, 10, Ranking::kNone,
                            "1 for a high-priority job of an accelerable app on a low-turnaround host (seed 004)."};
}  // namespace sluice::match
