// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/validator/judge.h"

#include <utility>

namespace sluice {

bool JudgedWorkunit::has_lost_canonical() const {
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (outputs[i] && result(i).id == read->wu.canonical_resultid)
            return outputs[i]->kind == OutputCheck::Kind::kError;
    return false;
}

std::size_t PairJudge::judge(const App&, std::span<JudgedWorkunit> workunits) {
    JudgedWorkunit& w = workunits.front();
    if (w.has_lost_canonical()) return 1;
    for (std::size_t i = 0; i < w.outputs.size(); ++i)
        if (w.asks_about(i)) w.outputs[i] = look(w, i);
    w.compared = compare_as_needed(w.read->wu, w.read->results, w.outputs,
                                   [&](std::size_t a, std::size_t b) { return compare(w, a, b); });
    done(w);
    return 1;
}

}  // namespace sluice
