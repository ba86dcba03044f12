// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
double value_of_keyword(const MatchContext& x, const Candidate& c) {
    if (!x.params.keyword_sched || c.keywords.empty() || x.user.keywords_yes.empty()) return 0;
    int matches = 0;
    for (int k : c.keywords) matches += x.user.keywords_yes.contains(k) ? 1 : 0;
    if (x.params.compat_level <= 0) return matches;
    return static_cast<double>(matches) / static_cast<double>(c.keywords.size());
}
bool applies_keyword(const MatchContext& x) { return x.params.keyword_sched && !x.user.keywords_yes.empty(); }
}  // namespace
const ScoreRow kKeywordRow{.name = "keyword",
                           .scope = Scope::kJob,
                           .value = value_of_keyword,
                           .weight_level0 = 1,
                           .weight_level1 = 1,
                           .doc = "How many of the job's keywords the volunteer said yes to. Level 1: their share.",
                           .applies = applies_keyword};
}  // namespace sluice::match
