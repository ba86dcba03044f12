// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_app_selection(const MatchContext& x, const Candidate& c) {
    return c.app.selected || x.user.allow_non_preferred_apps ? feasible() : refuse(Reason::kAppNotSelected, 0, 1);
}
}  // namespace
const FastRow kAppSelectionRow{.name = "app_selection",
                               .scope = Scope::kApp,
                               .check = check_app_selection,
                               .doc = "The volunteer selected the app, or allows others."};
}  // namespace sluice::match
