// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Small text functions with BOINC's lexical rules.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Without leading and trailing ASCII white space.
std::string_view trim(std::string_view s);
std::vector<std::string_view> split(std::string_view s, char separator);
std::string to_lower_ascii(std::string_view s);
bool contains_ignoring_case(std::string_view haystack, std::string_view needle);
void replace_all(std::string& s, std::string_view from, std::string_view to);

/// C base-0 integer (decimal, 0x hex, leading-0 octal), surrounding white space allowed, the whole text must
/// convert and fit 64 bits; nullopt otherwise. An empty text is 0 (upstream's rule for `<x></x>`).
std::optional<std::int64_t> parse_int(std::string_view s);
/// strtod rules, whole text, range errors refused, inf and nan accepted; empty text is 0. Locale-independent.
std::optional<double> parse_double(std::string_view s);

/// Forced into the range of a 32-bit int (the schema's integer columns).
std::int32_t clamp_to_int32(double v);
std::int32_t clamp_to_int32(std::int64_t v);
/// 0 instead of NaN and infinities.
double finite_or_zero(double v);

/// & < > and, when `ascii_only`, every byte >= 0x80 as &#n; (user and team names in replies).
std::string xml_escape(std::string_view s, bool ascii_only = false);
/// lt gt quot apos amp and &#n; &#xn; for n < 256; anything else is left as it stands.
std::string xml_unescape(std::string_view s);

/// Length of the valid UTF-8 sequence at the start of `s`, which is not empty: 1 to 4, or 0. Strict, as utf8mb4 is: no
/// overlong forms, no surrogates, nothing above U+10FFFF.
std::size_t utf8_sequence(std::string_view s);

// Text of people and files in messages.

/// `text` as a message may repeat it: one line, control characters as blanks, at most `most` bytes (then "..." follows;
/// a character of UTF-8 is not cut).
std::string in_one_line(std::string_view text, std::size_t most = 200);

/// Does a control of U+0080 to U+009F, which terminals obey as well as those of ASCII, stand at `at`? In UTF-8, two
/// bytes.
inline bool is_high_control(std::string_view text, std::size_t at) {
    return text[at] == '\xc2' && at + 1 < text.size() && (static_cast<unsigned char>(text[at + 1]) & 0xe0) == 0x80;
}

// Commands that an admin is told to run.

/// In single quotes if it holds anything but letters, digits and ._-/=:,+@%
std::string shell_quoted(const std::string& word);

/// "chown OWNER:GROUP WORDS && chmod MODE WORDS"; the words are quoted already.
std::string ownership_command(const std::string& owner, const std::string& group, const std::string& mode,
                              const std::string& words);

// Documents that the database holds of jobs and app versions: <file_info> elements and one element more, which a reply
// is made of. A column that was too small has cut some of them.

/// <TAG> stands in the document, and </TAG> behind it.
bool is_whole(std::string_view document, std::string_view tag);

/// Of a document that is not: "it is empty", "it ends without </workunit> (65535 bytes)". One line.
std::string what_is_missing(std::string_view document, std::string_view tag);

}  // namespace sluice
