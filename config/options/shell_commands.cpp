// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/options/shell_commands.h"

#include <algorithm>

#include "config/options/daemon_arguments.h"
#include "config/run/command_words.h"
#include "sluice/base/error.h"

namespace sluice {
namespace {

constexpr std::string_view kEnds = "|&;<>\n", kReplaced = "*?[](){}#~!";

/// "2" of "2>file" is no word.
std::string_view without_descriptor(std::string_view text) {
    const auto n = text.size();
    const bool digit = n > 0 && text[n - 1] >= '0' && text[n - 1] <= '9';
    return digit && (n == 1 || text[n - 2] == ' ' || text[n - 2] == '\t') ? text.substr(0, n - 1) : text;
}

/// From a redirection on: are there no more words of the command?
bool ends_behind_files(std::string_view text) {
    const auto go_to = [&](std::size_t at) { text.remove_prefix(std::min(at, text.size())); };
    while (!text.empty() && (text[0] == '<' || text[0] == '>')) {
        go_to(text.find_first_not_of("<>&|"));
        go_to(text.find_first_not_of(" \t"));
        go_to(text.find_first_of(" \t|&;<>\n"));
        go_to(text.find_first_not_of(" \t"));
        if (text.size() > 1 && text[0] >= '0' && text[0] <= '9' && (text[1] == '<' || text[1] == '>')) go_to(1);
    }
    return text.empty() || kEnds.find(text[0]) != std::string_view::npos;
}

}  // namespace

std::optional<std::vector<std::string>> first_command(std::string_view command) {
    char quote = 0;
    bool behind_a_word = false;  // before it, X=1 sets a variable
    command.remove_prefix(std::min(command.find_first_not_of(" \t"), command.size()));
    for (std::size_t i = 0; i < command.size(); ++i) {
        const char c = command[i];
        if (quote != '\'' && (c == '$' || c == '`' || c == '\\')) return std::nullopt;
        if (quote != 0) {
            if (c == quote) quote = 0;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (kEnds.find(c) != std::string_view::npos) {
            const bool redirects = c == '<' || c == '>';
            if (redirects && !ends_behind_files(command.substr(i))) return std::nullopt;
            command = redirects ? without_descriptor(command.substr(0, i)) : command.substr(0, i);
            break;
        } else if (kReplaced.find(c) != std::string_view::npos || (c == '=' && !behind_a_word)) {
            return std::nullopt;
        } else if (c == ' ' || c == '\t') {
            behind_a_word |= i > 0;
        }
    }
    try {
        std::vector<std::string> words = command_words(command);
        if (!words.empty() && words[0] == "exec") words.erase(words.begin());
        if (!words.empty()) return words;
    } catch (const ConfigError&) {  // the shell says it better
    }
    return std::nullopt;
}

bool is_of_the_shell(const std::string& word) {
    return refusal_of("/bin/sh", {"-c", "PATH=; command -v -- \"$1\" > /dev/null", "sh", word}).empty();
}

}  // namespace sluice
