// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/run/command_words.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "sluice/base/error.h"

namespace sluice {

std::vector<std::string> command_words(std::string_view command) {
    std::vector<std::string> words;
    std::string word;
    bool in_word = false;
    char quote = 0;
    for (std::size_t i = 0; i < command.size(); ++i) {
        const char c = command[i];
        const bool escapes = c == '\\' && quote != '\'' && i + 1 < command.size();
        if (escapes && command[i + 1] == '\n') {
            ++i;
        } else if (escapes && (quote == 0 || command[i + 1] == '"' || command[i + 1] == '\\')) {
            word += command[++i];
            in_word = true;
        } else if (quote != 0) {
            if (c == quote)
                quote = 0;
            else
                word += c;
        } else if (c == '"' || c == '\'') {
            quote = c;
            in_word = true;
        } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
            if (in_word) words.push_back(std::move(word));
            word.clear();
            in_word = false;
        } else {
            word += c;
            in_word = true;
        }
    }
    if (quote != 0) throw ConfigError("<cmd>" + std::string(command) + "</cmd>: a quote is not closed");
    if (in_word) words.push_back(std::move(word));
    return words;
}

bool needs_shell(const std::vector<std::string>& words) {
    return std::ranges::any_of(words, [](const std::string& word) {
        return word == "|" || word == "<" || word == ">" || word == ">>" || word.starts_with("1>") ||
               word.starts_with("2>") || word.starts_with("&>");
    });
}

std::string program_name(const std::vector<std::string>& words) {
    if (words.empty()) return "";
    const auto base = [](const std::string& word) { return std::filesystem::path(word).filename().string(); };
    const std::string first = base(words[0]);
    return first == "run_in_ops" && words.size() > 1 ? base(words[1]) : first;
}

}  // namespace sluice
