// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/validator/plan.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/host.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace sluice {
namespace {

constexpr double kMinHostSamples = 10, kMinVersionSamples = 100, kMaxHostScale = 10;
constexpr double kTypicalFlops = 4.3e9;  ///< upstream's figure for a CPU when a host's speed is not known
constexpr int kConsecutiveValid = 10;

bool host_scale_allowed(const HostAppVersion& hav, const App& app) {
    return hav.pfc_n >= kMinHostSamples && hav.pfc_avg > 0 &&
           (!app.host_scale_check || hav.consecutive_valid >= kConsecutiveValid);
}

/// What the job should take, where no record says better.
double estimated_pfc(const CreditInputs& in) {
    return in.wu.rsc_fpops_est * (in.app.min_avg_pfc > 0 ? in.app.min_avg_pfc : 1);
}

void scale_anonymous(CreditClaim& c, const HostAppVersion* hav, const CreditInputs& in) {
    if (hav != nullptr && host_scale_allowed(*hav, in.app)) {
        c.pfc = c.raw_pfc * in.app.min_avg_pfc / hav->pfc_avg;
    } else {
        c.pfc = estimated_pfc(in);
    }
}

void scale_normal(CreditClaim& c, const HostAppVersion* hav, const AppVersion& version, const CreditInputs& in) {
    bool version_scaled = false, host_scaled = false;
    c.pfc = c.raw_pfc;
    if (version.pfc_scale > 0) {
        c.pfc *= version.pfc_scale;
        version_scaled = true;
    }
    if (hav != nullptr && version.pfc_n >= kMinVersionSamples && host_scale_allowed(*hav, in.app)) {
        c.pfc *= std::min(version.pfc_avg / hav->pfc_avg, kMaxHostScale);
        host_scaled = true;
    }
    if (version_scaled && host_scaled) c.kind = CreditClaim::Kind::kNormal;
}

/// Mean in which values far from `anchor` count less.
double pegged_average(const std::vector<double>& values, double anchor) {
    double sum = 0, weights = 0;
    for (const double v : values) {
        const double w = 1 / (0.1 * anchor + std::abs(anchor - v));
        sum += w * v;
        weights += w;
    }
    return weights > 0 ? sum / weights : anchor;
}

}  // namespace

CreditClaim claim_of(const Result& r, const HostAppVersion* hav, const AppVersion* version, const CreditInputs& in) {
    CreditClaim c;
    c.outlier = r.runtime_outlier;  // the project's own code may say so
    const double elapsed = r.elapsed_time < 1e-6 ? r.cpu_time : r.elapsed_time;
    double flops = r.flops_estimate;
    if (!(flops > 0) || flops == 1e9) {  // 1e9 is a client that was never benchmarked
        flops = kTypicalFlops;
        c.outlier = true;
    }
    c.raw_pfc = elapsed * flops;
    if (hav != nullptr && r.app_version_id < 0)
        scale_anonymous(c, hav, in);
    else if (hav != nullptr && version != nullptr)
        scale_normal(c, hav, *version, in);
    else
        c.pfc = estimated_pfc(in);
    c.pfc = std::min(c.pfc, in.wu.rsc_fpops_bound);
    if (in.max_granted_credit > 0 && c.pfc * kCobblestone > in.max_granted_credit) {
        c.kind = CreditClaim::Kind::kInvalid;
        c.pfc = in.max_granted_credit / kCobblestone;
    }
    if (in.wu.rsc_fpops_est > 0 && hav != nullptr && !c.outlier) {
        const double x = c.raw_pfc / in.wu.rsc_fpops_est;
        if (x >= 1e-4 && x <= 1e4) c.pfc_sample = x;
        if (elapsed > 0) c.et_sample = elapsed / in.wu.rsc_fpops_est;  // old clients report CPU time only
    }
    return c;
}

double grant(const std::vector<CreditClaim>& claims, const CreditInputs& in) {
    std::vector<double> normal, all;
    for (const CreditClaim& c : claims) {
        if (c.kind == CreditClaim::Kind::kInvalid) continue;
        if (c.kind == CreditClaim::Kind::kNormal) {
            normal.push_back(c.pfc);
            all.push_back(c.pfc);  // twice: a normal claim counts as two approximate ones
        }
        all.push_back(c.pfc);
    }
    const double anchor = std::max(estimated_pfc(in), 1.0);
    double credit = pegged_average(normal.size() >= 2 ? normal : all, anchor) * kCobblestone;
    if (in.max_granted_credit > 0) credit = std::min(credit, in.max_granted_credit);
    return credit;
}

double runtime_credit(const std::vector<const Result*>& results, const CreditInputs& in) {
    std::vector<double> claims;
    for (const Result* r : results) {
        double pfc = r->flops_estimate * r->elapsed_time;
        if (pfc > 2 * in.wu.rsc_fpops_bound) pfc = in.wu.rsc_fpops_bound;
        const double credit = pfc * kCobblestone;
        if (credit > 0 && (in.max_granted_credit <= 0 || credit <= in.max_granted_credit)) claims.push_back(credit);
    }
    if (claims.empty()) return 0;
    if (claims.size() == 1) return claims.front();
    // Each is weighted by the sum of the others: the mean leans to the low claims.
    double total = 0, sum = 0, weights = 0;
    for (const double c : claims) total += c;
    for (const double c : claims) {
        sum += c * (total - c);
        weights += total - c;
    }
    return sum / weights;
}

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

/// kNotAsked: the judge decides itself, and has not.
Agreement agreement(const ValidateFacts& facts, std::size_t a, std::size_t b) {
    if (facts.decided) {
        const ValidateState said = facts.decided->states[a];
        return said == ValidateState::kInit    ? Agreement::kNotAsked
               : said == ValidateState::kValid ? Agreement::kSame
                                               : Agreement::kDifferent;
    }
    if (!facts.compared.empty()) return facts.compared[a][b];
    return facts.outputs[a]->key == facts.outputs[b]->key ? Agreement::kSame : Agreement::kDifferent;
}

std::size_t needed_for_quorum(const Workunit& wu) { return static_cast<std::size_t>(wu.min_quorum) / 2 + 1; }

std::optional<std::size_t> canonical_of(const Workunit& wu, const std::vector<Result>& results) {
    for (std::size_t i = 0; i < results.size(); ++i)
        if (results[i].id == wu.canonical_resultid) return i;
    return std::nullopt;
}

/// Late results of a workunit that has its canonical result: each is compared with that one.
void compare_with_canonical(const ValidateFacts& facts, ValidationPlan& plan, std::int64_t now) {
    const auto at = canonical_of(facts.wu, facts.results);
    const OutputCheck* canonical = at && facts.outputs[*at] ? &*facts.outputs[*at] : nullptr;
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
        } else if (const Agreement answer = agreement(facts, i, *at); is_open(answer)) {
            plan.again_later = true;
        } else if (answer != Agreement::kNotAsked) {
            const bool same = answer == Agreement::kSame;
            plan.verdicts.push_back(verdict_on(r, same ? ValidateState::kValid : ValidateState::kInvalid));
            plan.verdicts.back().granted_credit = same ? facts.wu.canonical_credit : 0;
        }
    }
    if (!plan.again_later || !plan.verdicts.empty()) plan.transition_time = now;
}

/// A result, and those that agree with it, itself included.
struct Majority {
    std::size_t canonical = 0;
    std::vector<std::size_t> members = {};  ///< empty: there is none
    bool doubtful = false;                  ///< a comparison was not possible just now
};

/// The result that agrees with most others, and the earliest of those; of comparisons the first that agrees with
/// enough.
Majority majority_of(const ValidateFacts& facts, const std::vector<std::size_t>& good) {
    Majority best;
    for (const std::size_t i : good) {
        Majority own{.canonical = i};
        for (const std::size_t j : good) {
            const Agreement answer = i == j ? Agreement::kSame : agreement(facts, i, j);
            if (answer == Agreement::kSame) own.members.push_back(j);
            best.doubtful |= is_open(answer);
        }
        own.doubtful = best.doubtful;
        if (own.members.size() > best.members.size()) best = std::move(own);
        if (!facts.compared.empty() && best.members.size() >= needed_for_quorum(facts.wu)) break;
    }
    if (best.members.size() < needed_for_quorum(facts.wu)) best.members.clear();
    return best;
}

/// It has its canonical result: no instance is needed any more.
void close_workunit(const ValidateFacts& facts, std::size_t canonical, ValidationPlan& plan) {
    plan.canonical_resultid = facts.results[canonical].id;
    for (const Result& r : facts.results)
        if (r.server_state == ServerState::kUnsent || r.server_state == ServerState::kInactive)
            plan.cancel.push_back(r.id);
    plan.assimilate = facts.wu.assimilate_state == AssimilateState::kInit;
    plan.transition_time = kNever;  // the assimilator sets it again
}

void found_canonical(const ValidateFacts& facts, const std::vector<std::size_t>& good, const Majority& majority,
                     ValidationPlan& plan) {
    for (const std::size_t i : good) {
        const bool won = std::ranges::find(majority.members, i) != majority.members.end();
        if (!won && is_open(agreement(facts, majority.canonical, i)))
            plan.again_later = true;  // compared with the canonical result then
        else
            plan.verdicts.push_back(
                verdict_on(facts.results[i], won ? ValidateState::kValid : ValidateState::kInvalid));
    }
    close_workunit(facts, majority.canonical, plan);
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

/// A suspicious result counts only beside others, and for as many as the app's jobs have (adaptive replication).
bool too_few_for_suspicious(const ValidateFacts& facts, const App& app, const std::vector<std::size_t>& good) {
    const auto n = static_cast<int>(good.size());
    const auto suspicious =
        static_cast<int>(std::ranges::count_if(good, [&](std::size_t i) { return facts.outputs[i]->suspicious; }));
    if (suspicious == 0) return false;
    const int quorum = std::max(facts.wu.min_quorum, std::abs(app.target_nresults));
    return (n == 1 ? 0 : n) < quorum;
}

/// What a judge decided that needs no majority.
void take_decision(const ValidateFacts& facts, const std::vector<std::size_t>& good, ValidationPlan& plan,
                   std::int64_t now) {
    const SetVerdict& said = *facts.decided;
    const bool found = said.canonical && std::ranges::find(good, *said.canonical) != good.end();
    std::vector<std::size_t> open;
    for (const std::size_t i : good) {
        const Result& r = facts.results[i];
        if (said.states[i] == ValidateState::kInvalid && !(found && i == *said.canonical)) {
            plan.verdicts.push_back(verdict_on(r, ValidateState::kInvalid));
            plan.transition_time = now;
        } else if (found && (i == *said.canonical || said.states[i] == ValidateState::kValid)) {
            plan.verdicts.push_back(verdict_on(r, ValidateState::kValid));
        } else {
            open.push_back(i);  // valid without a canonical result, too: there is nothing to grant yet
        }
    }
    if (found) {
        for (const std::size_t i : open)
            if (facts.results[i].validate_state == ValidateState::kInit)
                plan.verdicts.push_back(verdict_on(facts.results[i], ValidateState::kInconclusive));
        close_workunit(facts, *said.canonical, plan);
    } else if (!plan.again_later) {
        no_quorum_yet(facts, open, plan, now);
    }
}

void look_for_canonical(const ValidateFacts& facts, const App& app, ValidationPlan& plan, std::int64_t now) {
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
    if (facts.decided) return take_decision(facts, good, plan, now);
    if (static_cast<int>(good.size()) < facts.wu.min_quorum) return;
    if (too_few_for_suspicious(facts, app, good)) {
        if (!plan.again_later) no_quorum_yet(facts, good, plan, now);
        return;
    }
    const Majority majority = majority_of(facts, good);
    // Without those that can't be read or compared now it is not known whether one more instance is needed.
    if (!majority.members.empty())
        found_canonical(facts, good, majority, plan);
    else if (majority.doubtful)
        plan.again_later = true;
    else if (!plan.again_later)
        no_quorum_yet(facts, good, plan, now);
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

Comparisons compare_as_needed(const Workunit& wu, const std::vector<Result>& results,
                              const std::vector<std::optional<OutputCheck>>& outputs,
                              const std::function<Agreement(std::size_t a, std::size_t b)>& compare) {
    const auto is_good = [&](std::size_t i) { return outputs[i] && outputs[i]->kind == OutputCheck::Kind::kGood; };
    std::vector<std::size_t> good;
    for (std::size_t i = 0; i < results.size(); ++i)
        if (is_good(i)) good.push_back(i);
    Comparisons compared(results.size(), std::vector<Agreement>(results.size(), Agreement::kNotAsked));
    if (wu.canonical_resultid != 0) {
        const auto canonical = canonical_of(wu, results);
        if (!canonical || !is_good(*canonical)) return compared;
        for (const std::size_t i : good)
            if (i != *canonical) compared[i][*canonical] = compare(i, *canonical);
        return compared;
    }
    if (static_cast<int>(good.size()) < wu.min_quorum) return compared;
    for (const std::size_t i : good) {
        std::size_t same = 1;
        for (const std::size_t j : good) {
            if (i == j) continue;
            compared[i][j] = compare(i, j);
            same += compared[i][j] == Agreement::kSame ? 1 : 0;
        }
        if (same >= needed_for_quorum(wu)) break;
    }
    return compared;
}

ValidationPlan plan_validation(const ValidateFacts& facts, const App& app, std::int64_t now) {
    ValidationPlan plan;
    plan.wu_id = facts.wu.id;
    if (facts.wu.error_mask != 0) return plan;
    if (facts.wu.canonical_resultid != 0)
        compare_with_canonical(facts, plan, now);
    else
        look_for_canonical(facts, app, plan, now);
    return plan;
}

}  // namespace sluice
