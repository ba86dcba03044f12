// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_keyword_refusal(const MatchContext& x, const Candidate& c) {
    if (!x.params.keyword_sched || x.user.keywords_no.empty()) return feasible();
    for (int k : c.keywords)
        if (x.user.keywords_no.contains(k)) return refuse(Reason::kKeywordRefused, k, 0);
    return feasible();
}
bool applies_keyword_refusal(const MatchContext& x) { return x.params.keyword_sched && !x.user.keywords_no.empty(); }
}  // namespace
const FastRow kKeywordRefusalRow{.name = "keyword_refusal",
                                 .scope = Scope::kJob,
                                 .check = check_keyword_refusal,
                                 .doc = "With <keyword_sched>, the volunteer said no to none of the job's keywords.",
                                 .applies = applies_keyword_refusal};
}  // namespace sluice::match
