// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_beta(const MatchContext& x, const Candidate& c) {
    return c.app.app->beta && !x.user.allow_beta_work ? refuse(Reason::kBetaNotAllowed, 0, 1) : feasible();
}
}  // namespace
const FastRow kBetaRow{.name = "beta",
                       .scope = Scope::kApp,
                       .check = check_beta,
                       .doc = "Beta apps go to volunteers who allow test applications."};
}  // namespace sluice::match
