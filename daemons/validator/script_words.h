// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// "SCRIPT token token …": the options that name a project's script and what it is given.
#include <string>
#include <vector>

namespace sluice {

/// The script's name and its tokens; without any `defaults`. Throws ConfigError for an unknown token, or no name.
std::vector<std::string> script_words(const std::string& option, const std::string& value,
                                      const std::vector<std::string>& known, const std::vector<std::string>& defaults);

}  // namespace sluice
