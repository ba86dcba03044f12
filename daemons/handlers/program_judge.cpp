// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/handlers/program_judge.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "sluice/base/text.h"
#include "sluice/daemon/daemon.h"
#include "sluice/model/catalogue.h"

namespace sluice {
namespace {

using Kind = OutputCheck::Kind;

/// What took longer is stored before more is judged.
constexpr auto kAtMost = std::chrono::milliseconds(500);

/// No column holds another number.
std::optional<double> if_finite(const std::optional<double>& number) {
    return number && std::isfinite(*number) ? number : std::nullopt;
}

/// Of a result that was asked about. `opened`: what opening its files gave.
void take(OutputCheck& opened, const LookedAt& looked, const std::string& program) {
    opened.key.clear();
    opened.opaque = if_finite(looked.opaque);
    switch (looked.kind) {
        case LookedAt::Kind::kGood:
            opened.kind = Kind::kGood;
            opened.credit = if_finite(looked.credit);
            opened.outlier = looked.outlier;
            opened.suspicious = looked.suspicious;
            return;
        case LookedAt::Kind::kBad:
            // A file that is not there says more than the code that did not find it.
            if (opened.kind != Kind::kError) opened.why = in_one_line(looked.why, 1000);
            opened.kind = Kind::kError;
            return;
        case LookedAt::Kind::kLater: break;
    }
    opened = {Kind::kTransient, "", looked.why.empty() ? program + " can't tell now" : in_one_line(looked.why, 1000),
              opened.files};
}

Agreement agreement_of(PairIs pair) {
    switch (pair) {
        case PairIs::kSame: return Agreement::kSame;
        case PairIs::kDifferent: return Agreement::kDifferent;
        case PairIs::kLater: break;
    }
    return Agreement::kTransient;
}

/// An answer of code that decides on whole sets.
void take_set(JudgedWorkunit& w, const std::vector<char>& asked, const JudgeAnswer& answer,
              const std::string& program) {
    const std::size_t n = w.outputs.size();
    if (answer.looked.size() != n || answer.standing.size() != n || answer.canonical >= static_cast<int>(n))
        throw WireError("an answer about other results");
    SetVerdict verdict;
    verdict.states.assign(n, ValidateState::kInit);
    for (std::size_t i = 0; i < n; ++i) {
        if (asked[i] == 0) continue;
        take(*w.outputs[i], answer.looked[i], program);
        if (answer.standing[i] == JudgedSet::Standing::kValid) verdict.states[i] = ValidateState::kValid;
        if (answer.standing[i] == JudgedSet::Standing::kInvalid) verdict.states[i] = ValidateState::kInvalid;
    }
    if (answer.canonical >= 0) verdict.canonical = static_cast<std::size_t>(answer.canonical);
    w.decided = std::move(verdict);
}

void take(JudgedWorkunit& w, const std::vector<char>& asked, const JudgeAnswer& answer, const std::string& program) {
    if (answer.is_set) return take_set(w, asked, answer, program);
    const std::size_t n = w.outputs.size();
    const auto fits = [n](const auto& row) { return row.size() == n; };
    if (answer.looked.size() != n || !fits(answer.compared) || !fits(answer.asked) ||
        !std::ranges::all_of(answer.compared, fits) || !std::ranges::all_of(answer.asked, fits))
        throw WireError("an answer about other results");
    w.compared.assign(n, std::vector<Agreement>(n, Agreement::kNotAsked));
    for (std::size_t i = 0; i < n; ++i) {
        if (asked[i] != 0) take(*w.outputs[i], answer.looked[i], program);
        for (std::size_t j = 0; j < n; ++j)
            if (answer.asked[i][j] != 0) w.compared[i][j] = agreement_of(answer.compared[i][j]);
    }
}

}  // namespace

std::size_t ProgramJudge::judge(const App& app, std::span<JudgedWorkunit> workunits) {
    const auto begin = std::chrono::steady_clock::now();
    std::size_t n = 0;
    for (JudgedWorkunit& workunit : workunits) {
        if (stop_requested() || (n > 0 && std::chrono::steady_clock::now() - begin > kAtMost)) break;
        judge_one(app, workunit);
        if (stop_requested()) break;  // what was being judged was ended then
        ++n;
    }
    return n;
}

void ProgramJudge::judge_one(const App& app, JudgedWorkunit& w) {
    std::vector<char> asked(w.outputs.size());
    bool any = false;
    for (std::size_t i = 0; i < asked.size(); ++i) any |= (asked[i] = w.asks_about(i) ? 1 : 0) != 0;
    if (!any) return;
    const std::string name = std::filesystem::path(process_.program()).filename().string();
    std::string trouble;
    try {
        w.files.resize(w.outputs.size());
        JudgeAnswer answer;
        from_wire(process_.ask(to_wire(w.read->wu, w.read->results, w.files, asked, std::abs(app.target_nresults))),
                  answer);
        take(w, asked, answer, name);
        return;
    } catch (const HandlerFailed& e) {
        trouble = e.what();
    } catch (const WireError& e) {
        trouble = std::string("gave ") + e.what();
    }
    w.fails(name + " " + trouble);
}

}  // namespace sluice
