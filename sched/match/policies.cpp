// SPDX-License-Identifier: LGPL-3.0-or-later
// The tables of rows.h, and what of them applies to one request.
#include "sched/match/policies.h"

#include <algorithm>
#include <cmath>

#include "sluice/match/policies.h"
#include "sluice/match/reasons.h"

namespace sluice::match {
namespace {

#define SLUICE_ENTRY(row) &(row),
constexpr const FastRow* kFast[] = {SLUICE_FAST_ROWS(SLUICE_ENTRY)};
constexpr const SetRow* kSet[] = {SLUICE_SET_ROWS(SLUICE_ENTRY)};
constexpr const SlowRow* kSlow[] = {SLUICE_SLOW_ROWS(SLUICE_ENTRY)};
constexpr const ScoreRow* kScore[] = {SLUICE_SCORE_ROWS(SLUICE_ENTRY)};
#undef SLUICE_ENTRY

}  // namespace

std::span<const FastRow* const> fast_rows() { return kFast; }
std::span<const SetRow* const> set_rows() { return kSet; }
std::span<const SlowRow* const> slow_rows() { return kSlow; }
std::span<const ScoreRow* const> score_rows() { return kScore; }

bool is_ranked(const ScoreRow& row, int compat_level) {
    return row.ranking == Ranking::kLogicalEndTimes || row.ranking == Ranking::kLag ||
           (row.ranking == Ranking::kPriorities && compat_level > 0);
}

// Beyond all that makes sense, but 0 times it is still a number, without which nothing could be ordered.
constexpr double kMaxWeight = 1e100;

ActivePolicies::ActivePolicies(const MatchContext& context, bool ask_all) {
    const MatchParams& params = context.params;
    const auto applies = [&](const auto& row) { return ask_all || !row.applies || row.applies(context); };
    for (const FastRow* row : fast_rows())
        if (applies(*row)) fast_[static_cast<std::size_t>(row->scope)].push_back(row->check);
    for (const ScoreRow* row : score_rows()) {
        double weight = params.compat_level > 0 ? row->weight_level1 : row->weight_level0;
        if (const auto given = params.score_weights.find(row->name); given != params.score_weights.end())
            weight = std::clamp(given->second, -kMaxWeight, kMaxWeight);
        if (weight == 0 || std::isnan(weight)) continue;
        terms_.push_back({row, weight});
        if (!is_ranked(*row, params.compat_level)) {
            if (applies(*row)) score_[static_cast<std::size_t>(row->scope)].emplace_back(row->value, weight);
        } else if (row->ranking == Ranking::kPriorities) {
            priority_rank_weight_ = weight;
        } else if (row->ranking == Ranking::kLag) {
            if (applies(*row)) lag_weight_ = weight;
        } else {
            let_rank_weight_ = weight;
        }
    }
    orders_by_share_ = !context.tables.batch_shares.empty();
    if (orders_by_share_ && params.share_floor > 0 && context.rng.uniform() < params.share_floor)
        share_draw_ = context.rng.uniform();
}

Verdict ActivePolicies::set(const MatchContext& x, const Candidate& c, const Picked& picked) {
    for (const SetRow* row : set_rows())
        if (Verdict v = row->check(x, c, picked); v.refused()) return v;
    return feasible();
}

}  // namespace sluice::match

namespace sluice {

const std::vector<PolicyInfo>& policy_infos() {
    static const std::vector<PolicyInfo> infos = [] {
        std::vector<PolicyInfo> all;
        for (const auto* row : match::fast_rows()) all.push_back({PolicyKind::kFast, row->name, 0, 0, row->doc});
        for (const auto* row : match::set_rows()) all.push_back({PolicyKind::kSet, row->name, 0, 0, row->doc});
        for (const auto* row : match::slow_rows()) all.push_back({PolicyKind::kSlow, row->name, 0, 0, row->doc});
        for (const auto* row : match::score_rows())
            all.push_back({PolicyKind::kScore, row->name, row->weight_level0, row->weight_level1, row->doc});
        return all;
    }();
    return infos;
}

std::span<const std::string_view> score_term_names() {
    static const std::vector<std::string_view> names = [] {
        std::vector<std::string_view> all;
        for (const auto* row : match::score_rows()) all.emplace_back(row->name);
        return all;
    }();
    return names;
}

std::vector<Reason> binding_order(const MatchStats& stats) {
    std::vector<Reason> order;
    for (std::size_t i = 1; i < stats.reasons.size(); ++i)
        if (stats.reasons[i].count > 0) order.push_back(static_cast<Reason>(i));
    std::stable_sort(order.begin(), order.end(), [&](Reason a, Reason b) {
        const Progress of_a = reason_row(a).progress, of_b = reason_row(b).progress;
        if (of_a != of_b) return of_a > of_b;
        return stats.reasons[static_cast<std::size_t>(a)].count > stats.reasons[static_cast<std::size_t>(b)].count;
    });
    return order;
}

}  // namespace sluice
