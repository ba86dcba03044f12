// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// The words of a <cmd>, quoted and escaped as in a POSIX shell; a backslash at the end of a line joins
/// lines. Throws ConfigError on an open quote.
std::vector<std::string> command_words(std::string_view command);

/// A word is a pipe or a redirection: it needs <use_shell>.
bool needs_shell(const std::vector<std::string>& words);

/// What pid, lock and log files are called after: the program without its folder; the second word if the
/// first is run_in_ops. "" if there are no words.
std::string program_name(const std::vector<std::string>& words);

}  // namespace sluice
