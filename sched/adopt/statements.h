// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Runs a file of SQL with the database's own client: what takes out of the database what BOINC's programs do not know.
#include <filesystem>
#include <string>
#include <vector>

#include "config/project_config.h"

namespace sluice {

/// Runs it for at most `limit` s and gives it nothing to read; its exit status, or kScriptTimedOut. Ctrl-C in this
/// program's terminal does not reach it. It ends if this program is killed: the next call must not meet it.
int run_quietly(const std::vector<std::string>& words, double limit = 86400);

/// `folder`: where the client's options, with the password, lie meanwhile. False: it failed, and said why.
bool run_statements_of(const std::filesystem::path& file, const ProjectConfig& config,
                       const std::filesystem::path& folder);
/// Whether a file could be run: the client is there, and reaches the database.
bool try_statements(const ProjectConfig& config, const std::filesystem::path& folder);

}  // namespace sluice
