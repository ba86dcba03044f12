// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/assimilator/json_handler.h"

#include <algorithm>
#include <utility>

#include "daemons/assimilator/keep_file.h"
#include "sluice/base/text.h"
#include "sluice/json/input.h"

namespace sluice {

std::string read_handled(const std::string& answer, Id workunit) {
    constexpr std::int64_t kMaxId = std::int64_t{1} << 53;
    const json::Object said = json::parse(answer, "answer");
    said.only({"workunit", "failed"});
    if (said.whole("workunit", 1, kMaxId) != workunit)
        throw json::InputError("workunit",
                               "must be " + std::to_string(workunit) + ": answers come in the order of questions");
    return said.has("failed") ? in_one_line(said.text("failed"), 500) : "";
}

namespace {

JsonScriptOptions with_results(JsonScriptOptions options, const std::filesystem::path& results) {
    make_result_folder(results);
    options.writable.push_back(results.string());
    return options;
}

}  // namespace

JsonHandler::JsonHandler(const std::string& app, JsonScriptOptions options, const JsonScriptPlaces& places,
                         const Clock& clock)
    : app_(app),
      results_(places.project / "results"),
      script_(with_results(std::move(options), results_), places, clock) {}

std::vector<std::string> JsonHandler::handle(std::span<const FinishedWorkunit> workunits) {
    std::vector<std::string> questions;
    for (const FinishedWorkunit& w : workunits.first(std::min(script_.at_once(), workunits.size()))) {
        const JsonResultFiles canonical{w.canonical ? *w.canonical : Result(), w.files};
        questions.push_back(assimilator_question(w.wu, app_, w.canonical ? &canonical : nullptr,
                                                 results_ / std::to_string(w.wu.batch)));
    }
    std::vector<std::string> outcomes;
    const JsonScript::Asked got = script_.ask(questions, [&](std::size_t i, const std::string& answer) {
        const std::string failed = read_handled(answer, workunits[i].wu.id);
        outcomes.push_back(failed.empty() ? "" : script_.name() + " failed: " + failed);
        return std::string();
    });
    if (got.rests) return {};
    if (!got.failure.empty()) outcomes.push_back(got.failure);
    return outcomes;
}

}  // namespace sluice
