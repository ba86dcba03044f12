// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// script_assimilator's handler with upstream's interface: a process a workunit.
#include <filesystem>
#include <string>
#include <vector>

#include "daemons/assimilator/one_by_one.h"

namespace sluice {

/// "SCRIPT token token …": tokens files (paths), files2 (path and logical name of each), wu_id, wu_name, result_id,
/// runtime, batch_id; only the script: wu_id files. Throws ConfigError for an unknown token.
std::vector<std::string> parse_script_option(const std::string& option);

/// The argument vector: PROJECT/bin/SCRIPT and the values of its tokens; without a canonical result
/// SCRIPT --error MASK WUNAME WUID BATCH.
std::vector<std::string> script_arguments(const std::vector<std::string>& script, const std::filesystem::path& bin,
                                          const FinishedWorkunit& finished);

class ScriptHandler final : public OneByOneHandler {
  public:
    /// `time_limit`: s for a call; 0: none. Throws ConfigError.
    ScriptHandler(const std::string& option, std::filesystem::path bin, double time_limit, const Clock& clock);
    std::string name() const override { return script_.front(); }
    bool reads_files() const override;

  private:
    std::optional<std::string> store(const FinishedWorkunit& workunit) override;
    std::string what_it_says(int status) const;

    std::vector<std::string> script_;
    std::filesystem::path bin_;
    double time_limit_;
};

}  // namespace sluice
