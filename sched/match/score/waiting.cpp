// SPDX-License-Identifier: LGPL-3.0-or-later
// Seed 003 leaves starvation open: other jobs may be preferred to one for ever. With this term a job gains value as it
// ages, up to one week. docs/adding_a_policy.md takes this file as its example.
#include <algorithm>

#include "sched/match/rows.h"

namespace sluice::match {
namespace {

constexpr double kWeek = 7 * 86400;

double value_of_waiting(const MatchContext& x, const Candidate& c) {
    if (c.job.create_time <= 0) return 0;
    return std::clamp((x.now - c.job.create_time) / kWeek, 0.0, 1.0);
}

}  // namespace
const ScoreRow kWaitingRow{.name = "waiting",
                           .scope = Scope::kJob,
                           .value = value_of_waiting,
                           .weight_level1 = 1,
                           .doc = "The job's age as a part of a week, at most 1: nothing waits for ever."};
}  // namespace sluice::match
