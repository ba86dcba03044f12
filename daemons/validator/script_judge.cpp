// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/validator/script_judge.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "daemons/validator/script_words.h"
#include "sluice/base/log.h"
#include "sluice/base/process.h"
#include "sluice/daemon/daemon.h"

namespace sluice {
namespace {

constexpr int kTransientStatus = 3;  // upstream's VAL_RESULT_TRANSIENT_ERROR

bool has_files(const std::vector<std::string>& script) {
    return std::ranges::any_of(script, [](const auto& s) { return s == "files" || s == "files2"; });
}

}  // namespace

std::vector<std::string> parse_init_script(const std::string& value) {
    return script_words("--init_script", value, {"files", "result_id", "runtime"}, {"files"});
}

std::vector<std::string> parse_compare_script(const std::string& value) {
    return script_words("--compare_script", value,
                        {"files", "result_id", "runtime", "files2", "result_id2", "runtime2"}, {"files", "files2"});
}

ScriptJudge::ScriptJudge(JudgingScripts scripts, std::filesystem::path bin, const Clock& clock, Call call)
    : PairJudge(clock), scripts_(std::move(scripts)), bin_(std::move(bin)), call_(std::move(call)) {
    if (!call_)
        call_ = [](const auto& words, double limit) {
            return run_script(words, ScriptRun{.limit = limit, .stop = stop_requested});
        };
}

bool ScriptJudge::reads_files() const { return has_files(scripts_.init) || has_files(scripts_.compare); }

ScriptJudge::Answer ScriptJudge::call(const std::vector<std::string>& script, const JudgedWorkunit& w, std::size_t a,
                                      std::size_t b, std::string& why) {
    why = fmt::format("{} did not end before the daemon", script.front());
    if (stop_requested()) return Answer::kLater;  // nobody waits for a verdict any more
    std::vector<std::string> words{(bin_ / script.front()).string()};
    for (std::size_t i = 1; i < script.size(); ++i) {
        const bool second = script[i].ends_with('2');
        const std::string token = second ? script[i].substr(0, script[i].size() - 1) : script[i];
        const std::size_t which = second ? b : a;
        if (token == "files")
            for (const OutputFile& f : w.files[which]) words.push_back(f.path.string());
        else if (token == "result_id")
            words.push_back(std::to_string(w.result(which).id));
        else
            words.push_back(fmt::format("{:f}", w.result(which).elapsed_time));
    }
    const int status = call_(words, scripts_.time_limit);
    if (status == kScriptStopped) return Answer::kLater;
    why = fmt::format("{} returned {}", script.front(), status);
    if (status == 0) return Answer::kYes;
    if (status == kTransientStatus) return Answer::kLater;
    if (status == 126 || status == 127) {
        why += fmt::format(" (is {} there and executable, and the interpreter of its first line?)", words.front());
        return Answer::kLater;
    }
    const bool hung = status == kScriptTimedOut && scripts_.time_limit > 0;
    if (hung) why = fmt::format("{} took longer than {} s", script.front(), scripts_.time_limit);
    const bool killed = status > 128 && status <= 128 + 64;
    if (killed) why = fmt::format("{} was killed by signal {}", script.front(), status - 128);
    return hung || killed ? Answer::kFailed : Answer::kNo;
}

OutputCheck ScriptJudge::look(const JudgedWorkunit& w, std::size_t result) {
    OutputCheck check;
    check.files = w.outputs[result]->files;
    if (scripts_.init.empty()) return check;
    const Answer answer = call(scripts_.init, w, result, result, check.why);
    check.kind = answer == Answer::kYes  ? OutputCheck::Kind::kGood
                 : answer == Answer::kNo ? OutputCheck::Kind::kError
                                         : OutputCheck::Kind::kTransient;
    check.code_failed = answer == Answer::kFailed;
    return check;
}

Agreement ScriptJudge::compare(const JudgedWorkunit& w, std::size_t a, std::size_t b) {
    if (scripts_.compare.empty()) return Agreement::kSame;
    std::string why;
    const Answer answer = call(scripts_.compare, w, a, b, why);
    if (answer == Answer::kYes) return Agreement::kSame;
    if (answer == Answer::kNo) return Agreement::kDifferent;
    if (stop_requested()) return Agreement::kTransient;
    log_warning("[WU#{} {}] RESULT#{} is not compared with RESULT#{}: {}", w.read->wu.id, w.read->wu.name,
                w.result(a).id, w.result(b).id, why);
    return answer == Answer::kFailed ? Agreement::kFailed : Agreement::kTransient;
}

}  // namespace sluice
