// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The tables of policies as plain information: for config (names of score terms), docs/policies.md, sched_explain and
// lint. The rows themselves stand in sched/match/policies.cpp, in order of evaluation.
#include <span>
#include <string_view>
#include <vector>

#include "sluice/match/matcher.h"

namespace sluice {

enum class PolicyKind { kFast, kSet, kSlow, kScore };

struct PolicyInfo {
    PolicyKind kind = PolicyKind::kFast;
    const char* name = "";
    double weight_level0 = 0, weight_level1 = 0;  ///< score terms only
    const char* doc = "";
};
const std::vector<PolicyInfo>& policy_infos();

/// The names that <score_weights> may hold.
std::span<const std::string_view> score_term_names();

/// The reasons of a scan, the binding one first: a limit that ended the search, then what refused jobs that had passed
/// the most checks, the more jobs the earlier; fates that are no refusals come last. Reasons that did not occur are
/// left out.
std::vector<Reason> binding_order(const MatchStats& stats);

}  // namespace sluice
