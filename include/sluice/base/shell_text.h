// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Commands that an admin is told to run.
#include <string>

namespace sluice {

/// In single quotes if it holds anything but letters, digits and ._-/=:,+@%
std::string shell_quoted(const std::string& word);

/// "chown OWNER:GROUP WORDS && chmod MODE WORDS"; the words are quoted already.
std::string ownership_command(const std::string& owner, const std::string& group, const std::string& mode,
                              const std::string& words);

}  // namespace sluice
