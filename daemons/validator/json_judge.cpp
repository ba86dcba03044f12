// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/validator/json_judge.h"

#include <algorithm>
#include <utility>

#include "sluice/base/text.h"
#include "sluice/json/input.h"
#include "sluice/model/catalogue.h"

namespace sluice {
namespace {

constexpr std::int64_t kMaxId = std::int64_t{1} << 53;

bool is_asked(const JudgedWorkunit& w) {
    if (w.has_lost_canonical()) return false;
    for (std::size_t i = 0; i < w.outputs.size(); ++i)
        if (w.asks_about(i)) return true;
    return false;
}

std::string question_of(const JudgedWorkunit& w, const std::string& app) {
    std::vector<JsonResultFiles> results;
    for (std::size_t i = 0; i < w.outputs.size(); ++i)
        if (w.asks_about(i)) results.push_back({w.result(i), w.files[i]});
    return validator_question(w.read->wu, app, w.read->wu.canonical_resultid, results);
}

OutputCheck check_of(const json::Object& said, const OutputCheck& before) {
    OutputCheck check;
    check.files = before.files;
    const std::string verdict = said.text("verdict");
    if (verdict == "bad")
        check.kind = OutputCheck::Kind::kError;
    else if (verdict == "retry")
        check.kind = OutputCheck::Kind::kTransient;
    else if (verdict != "good")
        throw json::InputError(said.place("verdict"), "'" + verdict + "' must be good, bad or retry");
    if (said.has("key")) check.key = said.text("key");
    if (said.has("credit")) check.credit = said.number("credit", json::kNotNegative);
    check.why = said.has("reason") ? in_one_line(said.text("reason"), 500) : "the script says that it is " + verdict;
    return check;
}

}  // namespace

std::string take_judgement(const std::string& answer, JudgedWorkunit& w) {
    const json::Object said = json::parse(answer, "answer");
    said.only({"workunit", "failed", "results"});
    if (said.whole("workunit", 1, kMaxId) != w.read->wu.id)
        throw json::InputError("workunit",
                               "must be " + std::to_string(w.read->wu.id) + ": answers come in the order of questions");
    if (said.has("failed")) return in_one_line(said.text("failed"), 500);
    std::vector<std::optional<OutputCheck>> outputs = w.outputs;
    std::vector<bool> answered(outputs.size());
    const std::size_t n = outputs.size();
    Comparisons compared;
    const auto place_of = [&](const std::string& where, Id id) {
        for (std::size_t i = 0; i < n; ++i)
            if (w.result(i).id == id && w.asks_about(i)) return i;
        throw json::InputError(where, "result " + std::to_string(id) + " was not asked about");
    };
    for (const json::Object& r : said.objects("results")) {
        r.only({"id", "verdict", "key", "same_as", "credit", "reason"});
        const std::size_t i = place_of(r.place("id"), r.whole("id", 1, kMaxId));
        if (answered[i]) throw json::InputError(r.place("id"), "stands twice");
        answered[i] = true;
        outputs[i] = check_of(r, *w.outputs[i]);
        if (!r.has("same_as")) continue;
        if (compared.empty()) compared.assign(n, std::vector<Agreement>(n, Agreement::kDifferent));
        for (const std::int64_t other : r.wholes("same_as", 1, kMaxId)) {
            const std::size_t j = place_of(r.place("same_as"), other);
            compared[i][j] = compared[j][i] = Agreement::kSame;
        }
    }
    for (std::size_t i = 0; i < n; ++i)
        if (w.asks_about(i) && !answered[i])
            throw json::InputError("results", "result " + std::to_string(w.result(i).id) + " is missing");
    w.outputs = std::move(outputs);
    w.compared = std::move(compared);
    return "";
}

std::size_t JsonJudge::judge(const App& app, std::span<JudgedWorkunit> workunits) {
    const std::size_t n = std::min(script_.at_once(), workunits.size());
    std::vector<std::string> questions;
    std::vector<std::size_t> asked;
    for (std::size_t i = 0; i < n; ++i) {
        if (!is_asked(workunits[i])) continue;
        questions.push_back(question_of(workunits[i], app.name));
        asked.push_back(i);
    }
    if (questions.empty()) return n;
    const JsonScript::Asked got = script_.ask(questions, [&](std::size_t i, const std::string& answer) {
        JudgedWorkunit& w = workunits[asked[i]];
        if (const std::string failed = take_judgement(answer, w); !failed.empty())
            w.fails(script_.name() + " failed: " + failed);
        return std::string();
    });
    if (got.rests) return 0;
    if (got.answered == asked.size()) return n;
    if (got.failure.empty()) return got.answered == 0 ? 0 : asked[got.answered];  // stop_requested()
    workunits[asked[got.answered]].fails(got.failure);
    return asked[got.answered] + 1;
}

}  // namespace sluice
