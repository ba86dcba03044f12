// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// script_validator's judge with upstream's interface: a process a result, and one a comparison. Exit status 0: good, or
// equal; 3: try again later; anything else: an error, or different. A script that can't be started, is killed or takes
// too long has judged nothing: tried again later. (With upstream such a result is an error.)
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "daemons/validator/judge.h"
#include "sluice/base/clock.h"
#include "sluice/base/process.h"

namespace sluice {

/// The script's name and its tokens; empty: there is none.
struct JudgingScripts {
    std::vector<std::string> init, compare;
    double time_limit = kScriptTimeLimit;  ///< s for a call; 0: none
};

/// Throws ConfigError. Tokens: files result_id runtime; of `compare` also files2 result_id2 runtime2.
std::vector<std::string> parse_init_script(const std::string& value);
std::vector<std::string> parse_compare_script(const std::string& value);

class ScriptJudge final : public PairJudge {
  public:
    /// run_script() of the words; tests have their own.
    using Call = std::function<int(const std::vector<std::string>& words, double limit)>;
    ScriptJudge(JudgingScripts scripts, std::filesystem::path bin, const Clock& clock, Call call = {});
    bool reads_files() const override;

  protected:
    OutputCheck look(const JudgedWorkunit& workunit, std::size_t result) override;
    Agreement compare(const JudgedWorkunit& workunit, std::size_t a, std::size_t b) override;

  private:
    enum class Answer { kYes, kNo, kLater, kFailed };
    /// kFailed: it was killed or hung. `why` says what happened.
    Answer call(const std::vector<std::string>& script, const JudgedWorkunit& workunit, std::size_t a, std::size_t b,
                std::string& why);

    JudgingScripts scripts_;
    std::filesystem::path bin_;
    Call call_;
};

}  // namespace sluice
