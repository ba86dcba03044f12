// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/validator/plan.h"

#include <algorithm>
#include <map>

namespace sluice {
namespace {

bool succeeded(const Result& r) { return r.server_state == ServerState::kOver && r.outcome == Outcome::kSuccess; }
bool undecided(const Result& r) {
    return r.validate_state == ValidateState::kInit || r.validate_state == ValidateState::kInconclusive;
}
bool viable(const Result& r) { return succeeded(r) && r.validate_state != ValidateState::kInvalid; }

ResultVerdict verdict_on(const Result& r, ValidateState state) {
    ResultVerdict v;
    v.result_id = r.id;
    v.validate_state = state;
    v.outcome = r.outcome;
    v.was_server_state = r.server_state;
    v.was_validate_state = r.validate_state;
    v.grant = state == ValidateState::kValid;
    return v;
}

ResultVerdict unreadable(const Result& r) {
    ResultVerdict v = verdict_on(r, ValidateState::kInvalid);
    v.outcome = Outcome::kValidateError;
    return v;
}

/// Late results of a workunit that has its canonical result: each is compared with that one.
void compare_with_canonical(const ValidateFacts& facts, ValidationPlan& plan, std::int64_t now) {
    const OutputCheck* canonical = nullptr;
    for (std::size_t i = 0; i < facts.results.size(); ++i)
        if (facts.results[i].id == facts.wu.canonical_resultid && facts.outputs[i]) canonical = &*facts.outputs[i];
    for (std::size_t i = 0; i < facts.results.size(); ++i) {
        const Result& r = facts.results[i];
        if (!succeeded(r) || !undecided(r) || r.id == facts.wu.canonical_resultid || !facts.outputs[i]) continue;
        const OutputCheck& output = *facts.outputs[i];
        if (output.kind == OutputCheck::Kind::kTransient ||
            (canonical != nullptr && canonical->kind == OutputCheck::Kind::kTransient)) {
            plan.again_later = true;
        } else if (output.kind == OutputCheck::Kind::kError) {
            plan.verdicts.push_back(unreadable(r));
        } else if (canonical == nullptr || canonical->kind == OutputCheck::Kind::kError) {
            plan.verdicts.push_back(verdict_on(r, ValidateState::kTooLate));  // nothing left to compare with
        } else {
            const bool same = output.key == canonical->key;
            plan.verdicts.push_back(verdict_on(r, same ? ValidateState::kValid : ValidateState::kInvalid));
            plan.verdicts.back().granted_credit = same ? facts.wu.canonical_credit : 0;
        }
    }
    if (!plan.again_later || !plan.verdicts.empty()) plan.transition_time = now;
}

/// Indices of the results that agree with most others; empty below the quorum.
std::vector<std::size_t> agreeing(const ValidateFacts& facts, const std::vector<std::size_t>& good) {
    std::map<std::string, std::vector<std::size_t>> groups;
    for (const std::size_t i : good) groups[facts.outputs[i]->key].push_back(i);
    std::vector<std::size_t> best;
    for (const std::size_t i : good) {  // by position, so that a tie goes to the earliest result
        const auto& group = groups[facts.outputs[i]->key];
        if (group.size() > best.size()) best = group;
    }
    const std::size_t needed = static_cast<std::size_t>(facts.wu.min_quorum) / 2 + 1;
    return best.size() >= needed ? best : std::vector<std::size_t>{};
}

void found_canonical(const ValidateFacts& facts, const std::vector<std::size_t>& good,
                     const std::vector<std::size_t>& winners, ValidationPlan& plan) {
    plan.canonical_resultid = facts.results[winners.front()].id;
    for (const std::size_t i : good) {
        const bool won = std::find(winners.begin(), winners.end(), i) != winners.end();
        plan.verdicts.push_back(verdict_on(facts.results[i], won ? ValidateState::kValid : ValidateState::kInvalid));
    }
    for (const Result& r : facts.results)
        if (r.server_state == ServerState::kUnsent || r.server_state == ServerState::kInactive)
            plan.cancel.push_back(r.id);
    plan.assimilate = facts.wu.assimilate_state == AssimilateState::kInit;
    plan.transition_time = kNever;  // the assimilator sets it again
}

void no_quorum_yet(const ValidateFacts& facts, const std::vector<std::size_t>& good, ValidationPlan& plan,
                   std::int64_t now) {
    for (const std::size_t i : good)
        if (facts.results[i].validate_state == ValidateState::kInit)
            plan.verdicts.push_back(verdict_on(facts.results[i], ValidateState::kInconclusive));
    const int n = static_cast<int>(good.size());
    if (n > facts.wu.max_success_results) {
        plan.error_mask = kWuTooManySuccess;
        plan.transition_time = now;
    } else if (n >= facts.wu.target_nresults) {
        plan.target_nresults = n + 1;
        plan.transition_time = now;
    }
}

void look_for_canonical(const ValidateFacts& facts, ValidationPlan& plan, std::int64_t now) {
    std::vector<std::size_t> good;
    for (std::size_t i = 0; i < facts.results.size(); ++i) {
        const Result& r = facts.results[i];
        if (!viable(r) || !facts.outputs[i]) continue;
        if (facts.outputs[i]->kind == OutputCheck::Kind::kGood) {
            good.push_back(i);
        } else if (facts.outputs[i]->kind == OutputCheck::Kind::kError) {
            plan.verdicts.push_back(unreadable(r));
            plan.transition_time = now;  // the transitioner makes another instance
        } else {
            plan.again_later = true;
        }
    }
    if (static_cast<int>(good.size()) < facts.wu.min_quorum) return;
    const auto winners = agreeing(facts, good);
    // Without those that can't be read now it is not known whether one more instance is needed.
    if (winners.empty() && !plan.again_later)
        no_quorum_yet(facts, good, plan, now);
    else if (!winners.empty())
        found_canonical(facts, good, winners, plan);
}

}  // namespace

std::vector<bool> needs_output(const Workunit& wu, const std::vector<Result>& results) {
    std::vector<bool> needed(results.size(), false);
    int candidates = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
        needed[i] = wu.canonical_resultid == 0 ? viable(results[i]) : succeeded(results[i]) && undecided(results[i]);
        candidates += needed[i] ? 1 : 0;
    }
    if (wu.canonical_resultid == 0) {
        if (candidates < wu.min_quorum) std::fill(needed.begin(), needed.end(), false);
        return needed;
    }
    for (std::size_t i = 0; i < results.size(); ++i)
        if (results[i].id == wu.canonical_resultid && candidates > 0) needed[i] = true;
    return needed;
}

ValidationPlan plan_validation(const ValidateFacts& facts, const App&, std::int64_t now) {
    ValidationPlan plan;
    plan.wu_id = facts.wu.id;
    if (facts.wu.error_mask != 0) return plan;
    if (facts.wu.canonical_resultid != 0)
        compare_with_canonical(facts, plan, now);
    else
        look_for_canonical(facts, plan, now);
    return plan;
}

}  // namespace sluice
