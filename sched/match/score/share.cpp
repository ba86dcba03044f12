#include "sched/match/rows.h"
#include "sched/match/share_lag.h"

namespace sluice::match {
namespace {
double value_of_share(const MatchContext& x, const Candidate& c) {
    const BatchShare* const share = share_of(x.tables, c.job.batch);
    return share ? share->end : 0;
}
bool applies_share(const MatchContext& x) { return !x.tables.batch_shares.empty(); }
}  // namespace
const ScoreRow kShareRow{.name = "share",
                         .scope = Scope::kJob,
                         .value = value_of_share,
                         .weight_level0 = 100,
                         .weight_level1 = 118,  // 0.9 of it exceed all other terms together
                         .ranking = Ranking::kLag,
                         .doc =
                             "How far the batch's logical end time is behind the least of the candidates': -0.1 for 6 "
                             "hours of the whole project, -1 beyond (seed 000). 0 without share_rule, and for jobs "
                             "without a batch. In share_floor of the requests a user is drawn by quota: 1 more for the "
                             "jobs of his batches, behind the least of his own.",
                         .applies = applies_share};
}  // namespace sluice::match
