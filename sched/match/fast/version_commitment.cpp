// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>

#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_version_commitment(const MatchContext&, const Candidate& c) {
    if (!c.app.app->homogeneous_app_version || c.job.app_version_id == 0) return feasible();
    const Id mine = c.offer->choice.app_version_id;
    return mine == c.job.app_version_id
               ? feasible()
               : refuse(Reason::kAppVersionMismatch, static_cast<double>(mine), c.job.app_version_id);
}
bool applies_version_commitment(const MatchContext& x) {
    return std::any_of(x.tables.apps.begin(), x.tables.apps.end(),
                       [](const App& a) { return a.homogeneous_app_version; });
}
}  // namespace
const FastRow kVersionCommitmentRow{.name = "version_commitment",
                                    .scope = Scope::kVersion,
                                    .check = check_version_commitment,
                                    .doc = "Homogeneous app version: a committed workunit runs with its version only.",
                                    .applies = applies_version_commitment,
                                    .on_resend = true};
}  // namespace sluice::match
