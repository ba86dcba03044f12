// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Random neighbours of an input, the same in every run.
#include <cstdint>
#include <random>
#include <span>
#include <string>

namespace sluice::fuzz {

/// `text` after one to eight changes: bytes removed, replaced, inserted, the end cut off, a piece of one of `others`
/// put in.
inline std::string mutated(std::string text, std::span<const std::string> others, std::mt19937_64& random) {
    constexpr std::string_view kPieces[] = {
        "<",    ">",        "</",  "/>",   "\"",   "&#10;", "\n",     std::string_view("\0", 1),
        "-1",   "1e308",    "nan", "0x7f", "{}",   "[",     "]]>",    "<!--",
        "\xff", "\xc3\xa9", ",",   ":",    "null", "-",     "1e-400", "99999999999999999999"};
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    for (std::size_t changes = 1 + below(8); changes > 0; --changes) {
        const std::size_t at = below(text.size() + 1);
        switch (below(6)) {
            case 0: text.erase(at, 1 + below(40)); break;
            case 1:
                if (at < text.size()) text[at] = static_cast<char>(random());
                break;
            case 2: text.insert(at, kPieces[below(std::size(kPieces))]); break;
            case 3: text.insert(at, std::string(1 + below(300), at < text.size() ? text[at] : 'x')); break;
            case 4:
                if (below(8) == 0) text.resize(at);
                break;
            default: {
                const std::string& other = others[below(others.size())];
                const std::size_t from = below(other.size() + 1);
                text.insert(at, other.substr(from, below(80)));
            }
        }
    }
    return text;
}

}  // namespace sluice::fuzz
