// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Text of people and files in messages.
#include <string>
#include <string_view>

namespace sluice {

/// `text` as a message may repeat it: one line, control characters as blanks, at most `most` bytes (then "..." follows;
/// a character of UTF-8 is not cut).
std::string in_one_line(std::string_view text, std::size_t most = 200);

/// Does a control of U+0080 to U+009F, which terminals obey as well as those of ASCII, stand at `at`? In UTF-8, two
/// bytes.
inline bool is_high_control(std::string_view text, std::size_t at) {
    return text[at] == '\xc2' && at + 1 < text.size() && (static_cast<unsigned char>(text[at + 1]) & 0xe0) == 0x80;
}

}  // namespace sluice
