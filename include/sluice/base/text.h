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

}  // namespace sluice
