// SPDX-License-Identifier: LGPL-3.0-or-later
// Escaping with BOINC's rules: bytes, not characters. Entities stand for bytes 1 to 255.
#include <array>
#include <charconv>
#include <utility>

#include "sluice/base/text.h"

namespace sluice {
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

}  // namespace sluice
