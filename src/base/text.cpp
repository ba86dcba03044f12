// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

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

// Escaping with BOINC's rules: bytes, not characters. Entities stand for bytes 1 to 255.

namespace {

constexpr std::array<std::pair<std::string_view, char>, 5> kNamed{
    {{"lt;", '<'}, {"gt;", '>'}, {"amp;", '&'}, {"quot;", '"'}, {"apos;", '\''}}};

struct Entity {
    char byte = 0;
    std::size_t length = 0;  ///< of the text behind '&'; 0 = not an entity
};

Entity numeric_entity(std::string_view s) {
    int base = 10;
    std::size_t start = 1;
    if (s.size() > 1 && (s[1] == 'x' || s[1] == 'X')) {
        base = 16;
        start = 2;
    }
    unsigned value = 0;
    const auto [end, error] = std::from_chars(s.data() + start, s.data() + s.size(), value, base);
    const auto length = static_cast<std::size_t>(end - s.data());
    const bool closed = length < s.size() && s[length] == ';';
    // A NUL would end the text for every C program behind us; it stays as it stands.
    if (error != std::errc{} || !closed || value == 0 || value > 255) return {};
    return {static_cast<char>(value), length + 1};
}

/// `s`: what follows an '&'.
Entity entity_at(std::string_view s) {
    if (s.starts_with('#')) return numeric_entity(s);
    for (const auto& [name, byte] : kNamed) {
        if (s.starts_with(name)) return {byte, name.size()};
    }
    return {};
}

}  // namespace

std::string xml_escape(std::string_view s, bool ascii_only) {
    std::string out;
    out.reserve(s.size() + s.size() / 8);
    for (const char c : s) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            default:
                if (ascii_only && (static_cast<unsigned char>(c) & 0x80) != 0) {
                    out += "&#" + std::to_string(static_cast<unsigned char>(c)) + ';';
                } else {
                    out += c;
                }
        }
    }
    return out;
}

std::string xml_unescape(std::string_view s) {
    std::string out;
    out.reserve(s.size());
    while (!s.empty()) {
        const auto amp = s.find('&');
        out.append(s.substr(0, amp));
        if (amp == std::string_view::npos) break;
        s.remove_prefix(amp + 1);
        const Entity entity = entity_at(s);
        out += entity.length == 0 ? '&' : entity.byte;
        s.remove_prefix(entity.length);
    }
    return out;
}

std::string in_one_line(std::string_view text, std::size_t most) {
    const bool cut = text.size() > most;
    if (cut) {
        const auto begins_character = [&](std::size_t at) {
            return (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
        };
        while (most > 0 && !begins_character(most)) --most;
        text = text.substr(0, most);
    }
    std::string line(text);
    for (char& c : line)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    for (std::size_t at = 0; at < line.size(); ++at)
        if (is_high_control(line, at)) line[at] = line[at + 1] = ' ';
    if (cut) line += "...";
    return line;
}

std::string shell_quoted(const std::string& word) {
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789._-/=:,+@%") == std::string::npos;
    if (plain) return word;
    std::string quoted = word;
    replace_all(quoted, "'", "'\\''");
    return "'" + quoted + "'";
}

std::string ownership_command(const std::string& owner, const std::string& group, const std::string& mode,
                              const std::string& words) {
    return "chown " + owner + ":" + group + " " + words + " && chmod " + mode + " " + words;
}

bool is_whole(std::string_view document, std::string_view tag) {
    // From the end: the element comes last, and long documents have it behind many files.
    const auto end = document.rfind(fmt::format("</{}>", tag));
    return end != std::string_view::npos && document.substr(0, end).rfind(fmt::format("<{}>", tag)) != document.npos;
}

std::string what_is_missing(std::string_view document, std::string_view tag) {
    if (document.empty()) return "it is empty";
    const bool begins = document.find(fmt::format("<{}>", tag)) != std::string_view::npos;
    return begins ? fmt::format("it ends without </{}> ({} bytes)", tag, document.size())
                  : fmt::format("it has no <{}> ({} bytes)", tag, document.size());
}

}  // namespace sluice
