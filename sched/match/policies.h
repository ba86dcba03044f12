// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The rows that apply to one RPC: weights looked up once, terms of weight 0 left out.
#include <iterator>
#include <utility>
#include <vector>

#include "sched/match/rows.h"

namespace sluice::match {

struct ActiveTerm {
    const ScoreRow* row;
    double weight;
};

class ActivePolicies {
  public:
    /// `ask_all`: also rows that can't matter to this request (tests compare).
    explicit ActivePolicies(const MatchContext& context, bool ask_all = false);

    /// The first refusal of the fast checks of one scope. `skip` is left out (NciScan skips the NCI row).
    Verdict fast(Scope scope, const MatchContext& x, const Candidate& c, const FastRow* skip = nullptr) const {
        for (const FastFn check : fast_[static_cast<std::size_t>(scope)]) {
            if (skip && check == skip->check) continue;
            if (Verdict v = check(x, c); v.refused()) return v;
        }
        return feasible();
    }
    /// True if the fast checks of one scope refuse nothing; otherwise `why` is the first refusal.
    bool passes(Scope scope, const MatchContext& x, const Candidate& c, Verdict& why) const {
        for (const FastFn check : fast_[static_cast<std::size_t>(scope)]) {
            if (const Verdict v = check(x, c); v.refused()) {
                why = v;
                return false;
            }
        }
        return true;
    }
    /// Points of the terms of one scope; ranked terms are left to the ranking.
    double score(Scope scope, const MatchContext& x, const Candidate& c) const {
        double sum = 0;
        for (const auto& [value, weight] : score_[static_cast<std::size_t>(scope)]) sum += weight * value(x, c);
        return sum;
    }
    /// Weights of the terms that are ranked; 0 if there is no such term now.
    double priority_rank_weight() const { return priority_rank_weight_; }
    double let_rank_weight() const { return let_rank_weight_; }
    bool ranks() const { return priority_rank_weight_ != 0 || let_rank_weight_ != 0; }
    /// Of the term that is a lag; 0 if it does not matter to this request.
    double lag_weight() const { return lag_weight_; }
    /// Does the order of shares come before the score (share_bands.h)?
    bool orders_by_share() const { return orders_by_share_; }
    /// In [0,1) where the sum of the candidates' users' quotas names the one who goes first, drawn once a request;
    /// below 0: nobody, the least LET does.
    double share_draw() const { return share_draw_; }
    /// All terms in table order, for the trace.
    const std::vector<ActiveTerm>& terms() const { return terms_; }

    static Verdict set(const MatchContext& x, const Candidate& c, const Picked& picked);

  private:
    std::vector<FastFn> fast_[std::size(kScopes)];
    std::vector<std::pair<ScoreFn, double>> score_[std::size(kScopes)];
    std::vector<ActiveTerm> terms_;
    bool orders_by_share_ = false;
    double priority_rank_weight_ = 0, let_rank_weight_ = 0, lag_weight_ = 0, share_draw_ = -1;
};

/// Is this term ranked rather than added as it stands?
bool is_ranked(const ScoreRow& row, int compat_level);

}  // namespace sluice::match
