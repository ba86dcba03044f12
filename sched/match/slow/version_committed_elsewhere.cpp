// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_version_committed_elsewhere(const MatchContext&, const Candidate& c, const WorkunitFacts& f) {
    if (!c.app.app->homogeneous_app_version || f.app_version_id == 0) return feasible();
    const Id mine = c.offer->choice.app_version_id;
    return f.app_version_id == mine ? feasible()
                                    : refuse(Reason::kVersionCommittedElsewhere, static_cast<double>(mine),
                                             static_cast<double>(f.app_version_id));
}
}  // namespace
const SlowRow kVersionCommittedElsewhereRow{
    .name = "version_committed_elsewhere",
    .check = check_version_committed_elsewhere,
    .doc = "No other host has meanwhile committed the workunit to its app version.",
    .commitment = true};
}  // namespace sluice::match
