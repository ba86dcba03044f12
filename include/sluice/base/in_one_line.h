#pragma once
// Text of people and files in messages.
#include <string>
#include <string_view>

namespace sluice {

/// `text` as a message may repeat it: one line, control characters as blanks, at most `most` bytes (then "..." follows;
/// a character of UTF-8 is not cut).
std::string in_one_line(std::string_view text, std::size_t most = 200);

}  // namespace sluice
