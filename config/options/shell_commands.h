// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Of a <cmd> that the shell reads, the words of its first command, up to a pipe, a redirection, or another command.
/// nullopt: what they are only a shell knows, which replaces variables and patterns.
std::optional<std::vector<std::string>> first_command(std::string_view command);

/// Is it one that the shell has itself, as `cd` or `if`?
bool is_of_the_shell(const std::string& word);

}  // namespace sluice
