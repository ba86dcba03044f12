// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"
#include "sched/match/share_bands.h"

namespace sluice::match {
namespace {
double value_of_share_lag(const MatchContext& x, const Candidate& c) {
    const BatchShare* const share = share_of(x.tables, c.job.batch);
    return share ? share->end : 0;
}
bool applies_share_lag(const MatchContext& x) { return !x.tables.batch_shares.empty(); }
}  // namespace
const ScoreRow kShareLagRow{
    .name = "share_lag",
    .scope = Scope::kJob,
    .value = value_of_share_lag,
    .weight_level0 = 10,
    .weight_level1 = 12,
    .ranking = Ranking::kLag,
    .doc =
        "How far the batch's logical end time is behind the least of its band: -1 for 6 hours of the whole project. 0 without share_rule, and for jobs that nobody owns.",
    .applies = applies_share_lag};
}  // namespace sluice::match
