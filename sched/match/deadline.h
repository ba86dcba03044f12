// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "sched/match/candidate.h"
#include "sched/match/picked.h"

namespace sluice::match {

/// The delay bound, s, that can be kept if one can: the reduced one of a retry, where the project has one, or the job's
/// own. The report deadline is now + this.
double attainable_deadline(const MatchContext& context, const Candidate& candidate, const Picked& picked);
/// One given bound.
Verdict deadline_verdict(const MatchContext& context, const Candidate& candidate, const Picked& picked, double bound);

}  // namespace sluice::match
