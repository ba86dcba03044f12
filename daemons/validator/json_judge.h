// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// script_validator's judge with --json_script: many results a call, one process for all.
#include <string>

#include "daemons/validator/json_script.h"
#include "daemons/validator/judge.h"

namespace sluice {

/// Takes the script's answer into the workunit: outputs and comparisons. Returns "" or why the script says that it has
/// failed. Throws json::InputError for an answer that does not say what it must.
std::string take_judgement(const std::string& answer, JudgedWorkunit& workunit);

class JsonJudge final : public Judge {
  public:
    JsonJudge(const JsonScriptOptions& options, const JsonScriptPlaces& places, const Clock& clock)
        : script_(options, places, clock) {}
    std::size_t judge(const App& app, std::span<JudgedWorkunit> workunits) override;

  private:
    JsonScript script_;
};

}  // namespace sluice
