// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// How a line of the protocol is read.
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice {

/// Words between single blanks; the last one is the rest.
inline std::vector<std::string_view> words_of_line(std::string_view text, std::size_t most) {
    std::vector<std::string_view> words;
    while (words.size() + 1 < most) {
        const auto blank = text.find(' ');
        if (blank == std::string_view::npos) break;
        words.push_back(text.substr(0, blank));
        text.remove_prefix(blank + 1);
    }
    words.push_back(text);
    return words;
}

/// nullopt: it is no number from 0 on.
template <typename T>
std::optional<T> count_of(std::string_view text) {
    T number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number < 0) return std::nullopt;
    return number;
}

}  // namespace sluice
