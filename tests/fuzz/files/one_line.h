#pragma once
// What people are told of a file that is wrong: one line that they can print, not a page.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace sluice::fuzz {

/// Ends the program unless `text` is one line that holds one of the words of `says`, which tell what to do or what is
/// allowed.
inline void require_one_line(const std::string& text, std::initializer_list<std::string_view> says) {
    const bool line = !text.empty() && text.size() <= 2000 && std::ranges::none_of(text, [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
    if (line && std::ranges::any_of(says, [&](std::string_view word) { return text.find(word) != text.npos; })) return;
    std::fprintf(stderr, "%s: \"%s\"\n", line ? "this does not say what to do" : "this is not one line", text.c_str());
    std::abort();
}

}  // namespace sluice::fuzz
