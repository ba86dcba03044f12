// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace sluice {
namespace {

constexpr std::string_view kSpace = " \t\n\v\f\r";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

/// Takes one '+' or '-' off the front; true for '-'.
bool take_sign(std::string_view& s) {
    const bool negative = s.starts_with('-');
    if (negative || s.starts_with('+')) s.remove_prefix(1);
    return negative;
}

bool take_hex_prefix(std::string_view& s) {
    if (s.size() < 3 || s[0] != '0' || lower(s[1]) != 'x') return false;
    s.remove_prefix(2);
    return true;
}

}  // namespace

std::string_view trim(std::string_view s) {
    const auto first = s.find_first_not_of(kSpace);
    if (first == std::string_view::npos) return s.substr(0, 0);
    return s.substr(first, s.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string_view> split(std::string_view s, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto at = s.find(separator);
        parts.push_back(s.substr(0, at));
        if (at == std::string_view::npos) return parts;
        s.remove_prefix(at + 1);
    }
}

std::string to_lower_ascii(std::string_view s) {
    std::string out(s);
    std::transform(out.begin(), out.end(), out.begin(), lower);
    return out;
}

bool contains_ignoring_case(std::string_view haystack, std::string_view needle) {
    const auto same = [](char a, char b) { return lower(a) == lower(b); };
    return needle.empty() ||
           std::search(haystack.begin(), haystack.end(), needle.begin(), needle.end(), same) != haystack.end();
}

void replace_all(std::string& s, std::string_view from, std::string_view to) {
    if (from.empty()) return;
    std::string out;
    std::size_t done = 0;
    for (auto at = s.find(from); at != std::string::npos; at = s.find(from, done)) {
        out.append(s, done, at - done).append(to);
        done = at + from.size();
    }
    if (done == 0) return;
    out.append(s, done);
    s = std::move(out);
}

std::optional<std::int64_t> parse_int(std::string_view s) {
    s = trim(s);
    if (s.empty()) return 0;
    const bool negative = take_sign(s);
    int base = 10;
    if (take_hex_prefix(s)) {
        base = 16;
    } else if (s.starts_with('0')) {
        base = 8;
    }
    std::uint64_t magnitude = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), magnitude, base);
    if (error != std::errc{} || end != s.data() + s.size()) return std::nullopt;
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (magnitude > kMax + (negative ? 1 : 0)) return std::nullopt;
    return static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
}

std::optional<double> parse_double(std::string_view s) {
    s = trim(s);
    if (s.empty()) return 0.0;
    const bool negative = take_sign(s);
    if (s.starts_with('-')) return std::nullopt;  // from_chars would take a second sign
    const auto format = take_hex_prefix(s) ? std::chars_format::hex : std::chars_format::general;
    if (s.starts_with('-')) return std::nullopt;
    double value = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value, format);
    if (error != std::errc{} || end != s.data() + s.size()) return std::nullopt;
    return negative ? -value : value;
}

std::int32_t clamp_to_int32(double v) {
    if (std::isnan(v)) return 0;
    constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min();
    constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();
    if (v <= kMin) return kMin;
    if (v >= kMax) return kMax;
    return static_cast<std::int32_t>(v);
}

std::int32_t clamp_to_int32(std::int64_t v) {
    constexpr std::int64_t kMin = std::numeric_limits<std::int32_t>::min();
    constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
    return static_cast<std::int32_t>(std::clamp(v, kMin, kMax));
}

double finite_or_zero(double v) { return std::isfinite(v) ? v : 0.0; }

}  // namespace sluice
