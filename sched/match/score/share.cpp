#include "sched/match/rows.h"
#include "sched/match/share_lag.h"

namespace sluice::match {
namespace {
double value_of_share(const MatchContext& x, const Candidate& c) { return logical_end(x.tables, c.job.batch); }
bool applies_share(const MatchContext& x) { return !x.tables.batch_shares.empty(); }
}  // namespace
const ScoreRow kShareRow{.name = "share",
                         .scope = Scope::kJob,
                         .value = value_of_share,
                         .weight_level0 = 100,
                         .weight_level1 = 100,
                         .ranking = Ranking::kLag,
                         .doc =
                             "How far the batch's logical end time is behind the least of the candidates': -0.1 for 6 "
                             "hours of the whole project, -1 beyond (seed 000). 0 without share_rule, and for jobs "
                             "without a batch.",
                         .applies = applies_share};
}  // namespace sluice::match
