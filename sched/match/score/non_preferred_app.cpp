// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
double value_of_non_preferred_app(const MatchContext&, const Candidate& c) { return c.app.selected ? 0 : -1; }
}  // namespace
const ScoreRow kNonPreferredAppRow{.name = "non_preferred_app",
                                   .scope = Scope::kApp,
                                   .value = value_of_non_preferred_app,
                                   .weight_level0 = 1,
                                   .weight_level1 = 1,
                                   .doc = "-1 for an app that the volunteer did not select but allows."};
}  // namespace sluice::match
