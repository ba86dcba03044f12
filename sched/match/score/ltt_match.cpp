// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/in_use.h"
#include "sched/match/turnaround.h"

namespace sluice::match {
namespace {
double value_of_ltt_match(const MatchContext& x, const Candidate& c) {
    return is_reserved_kind(x, c) && turnaround_of(x, c) == Turnaround::kLow ? 1 : 0;
}
}  // namespace
const ScoreRow kLttMatchRow{
    .name = "ltt_match",
    .scope = Scope::kVersion,
    .value = value_of_ltt_match,
    .weight_level0 = 10,
    .weight_level1 = 10,
    .doc =
        "1 for a high-priority job of an accelerable app on a low-turnaround host. Level 1: where batch_stats knows the "
        "host's app version, that counts.",
    .applies = uses_batch_acceleration};
}  // namespace sluice::match
