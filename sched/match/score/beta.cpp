// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
double value_of_beta(const MatchContext&, const Candidate& c) { return c.app.app->beta ? 1 : 0; }
}  // namespace
const ScoreRow kBetaTermRow{.name = "beta",
                            .scope = Scope::kApp,
                            .value = value_of_beta,
                            .weight_level0 = 1,
                            .weight_level1 = 1,
                            .doc = "1 for a beta app: the few volunteers who test get test jobs first."};
}  // namespace sluice::match
