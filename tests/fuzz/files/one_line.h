// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What people are told of a file that is wrong: one line that they can print, not a page.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace sluice::fuzz {

/// What is wrong with it: it should be one line that holds one of the words of `says`, which tell what to do or what is
/// allowed. Empty: nothing.
inline std::string line_fault(const std::string& text, std::initializer_list<std::string_view> says) {
    const bool line = !text.empty() && text.size() <= 2000 && std::ranges::none_of(text, [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
    if (!line) return "this is not one line: \"" + text + "\"";
    if (std::ranges::any_of(says, [&](std::string_view word) { return text.find(word) != text.npos; })) return "";
    return "this does not say what to do: \"" + text + "\"";
}

/// Ends the program if there is a fault.
inline void require_one_line(const std::string& text, std::initializer_list<std::string_view> says) {
    const std::string fault = line_fault(text, says);
    if (fault.empty()) return;
    std::fprintf(stderr, "%s\n", fault.c_str());
    std::abort();
}

}  // namespace sluice::fuzz
