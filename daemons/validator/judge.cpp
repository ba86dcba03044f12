// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/validator/judge.h"

#include <algorithm>
#include <utility>

#include "sluice/daemon/daemon.h"

namespace sluice {

bool JudgedWorkunit::has_lost_canonical() const {
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (outputs[i] && result(i).id == read->wu.canonical_resultid)
            return outputs[i]->kind == OutputCheck::Kind::kError;
    return false;
}

bool JudgedWorkunit::asks_about(std::size_t i) const {
    if (!outputs[i] || outputs[i]->kind == OutputCheck::Kind::kTransient) return false;
    return outputs[i]->kind == OutputCheck::Kind::kGood || !outputs[i]->missing.empty();
}

void JudgedWorkunit::fails(const std::string& why) {
    compared.clear();
    decided.reset();
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (asks_about(i))
            outputs[i] = OutputCheck{.kind = OutputCheck::Kind::kTransient, .key = "", .why = why, .code_failed = true};
}

bool JudgedWorkunit::has_failed() const {
    const auto failed = [](const std::vector<Agreement>& row) {
        return std::ranges::find(row, Agreement::kFailed) != row.end();
    };
    return std::ranges::any_of(outputs, [](const auto& o) { return o && o->code_failed; }) ||
           std::ranges::any_of(compared, failed);
}

std::size_t PairJudge::judge(const App&, std::span<JudgedWorkunit> workunits) {
    constexpr double kSlice = 1;  // s; then what is judged gets stored
    const double end = clock_.now() + kSlice;
    std::size_t judged = 0;
    while (judged < workunits.size() && !stop_requested() && (judged == 0 || clock_.now() < end))
        judge_one(workunits[judged++]);
    return judged;
}

void PairJudge::judge_one(JudgedWorkunit& w) {
    if (w.has_lost_canonical()) return;
    for (std::size_t i = 0; i < w.outputs.size(); ++i)
        if (w.asks_about(i)) w.outputs[i] = look(w, i);
    w.compared = compare_as_needed(w.read->wu, w.read->results, w.outputs,
                                   [&](std::size_t a, std::size_t b) { return compare(w, a, b); });
    done(w);
}

}  // namespace sluice
