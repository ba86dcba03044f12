// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The command that a script assimilator runs for a workunit.
#include <filesystem>
#include <string>
#include <vector>

#include "daemons/validator/output_files.h"
#include "sluice/db/assimilate_store.h"

namespace sluice {

/// "SCRIPT token token …": tokens files (paths), files2 (path and logical name of each), wu_id, wu_name, result_id,
/// runtime, batch_id; only the script: wu_id files. Throws ConfigError for an unknown token.
std::vector<std::string> parse_script_option(const std::string& option);

/// The argument vector: PROJECT/bin/SCRIPT and the values of its tokens; without a canonical result
/// SCRIPT --error MASK WUNAME WUID BATCH.
std::vector<std::string> script_arguments(const std::vector<std::string>& script, const std::filesystem::path& bin,
                                          const Assimilable& job, const std::vector<OutputFile>& files);

}  // namespace sluice
