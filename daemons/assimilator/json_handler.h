// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// script_assimilator's handler with --json_script: one process for all workunits.
#include <string>
#include <vector>

#include "daemons/assimilator/assimilator.h"
#include "daemons/validator/json_script.h"

namespace sluice {

/// "" or why the script says that it has failed. Throws json::InputError for an answer that does not say what it must.
std::string read_handled(const std::string& answer, Id workunit);

class JsonHandler final : public AssimilateHandler {
  public:
    /// Makes PROJECT/results, to which the script may write. Throws FileError, ConfigError.
    JsonHandler(const std::string& app, JsonScriptOptions options, const JsonScriptPlaces& places, const Clock& clock);
    std::string name() const override { return script_.name(); }
    std::vector<std::string> handle(std::span<const FinishedWorkunit> workunits) override;

  private:
    std::string app_;
    std::filesystem::path results_;
    JsonScript script_;
};

}  // namespace sluice
