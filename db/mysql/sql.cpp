// SPDX-License-Identifier: LGPL-3.0-or-later
// Text of statements: numbers, escaped text and literals of our source only.
//
// Escaping needs no connection: Sluice's sessions always speak utf8mb4 and never set NO_BACKSLASH_ESCAPES
// (session.cpp), so that in a '…' literal only the bytes below end or change it.
#include "sluice/db/sql.h"

#include <charconv>
#include <cmath>
#include <stdexcept>

#include "sluice/base/text.h"

namespace sluice {
namespace {

void append_escaped(std::string& out, char c) {
    switch (c) {
        case '\0': out += "\\0"; break;
        case '\'': out += "\\'"; break;
        case '\\': out += "\\\\"; break;
        case '\x1a': out += "\\Z"; break;
        default: out += c;
    }
}

void append_text(std::string& out, SqlText value) {
    out += '\'';
    std::string_view rest = value.text;
    for (std::size_t chars = 0; !rest.empty() && chars < value.max_chars; ++chars) {
        const std::size_t length = utf8_sequence(rest);
        if (length == 1) {
            append_escaped(out, rest[0]);
        } else if (length > 1) {
            out.append(rest, 0, length);
        } else {  // not UTF-8: the byte is taken as Latin-1
            const auto byte = static_cast<unsigned char>(rest[0]);
            out += static_cast<char>(0xC0 | (byte >> 6));
            out += static_cast<char>(0x80 | (byte & 0x3F));
        }
        rest.remove_prefix(length == 0 ? 1 : length);
    }
    out += '\'';
}

}  // namespace

Sql& Sql::operator<<(SqlLiteral literal) {
    text_ += literal.text;
    return *this;
}

Sql& Sql::operator<<(double value) {
    if (!std::isfinite(value)) value = 0;
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;  // shortest that reads back the same
    const std::string_view digits(buffer, static_cast<std::size_t>(end - buffer));
    text_ += digits;
    // Without an exponent the server would take it as an exact DECIMAL and calculate with it as such.
    if (digits.find('e') == std::string_view::npos) text_ += "e0";
    return *this;
}

Sql& Sql::operator<<(SqlText value) {
    append_text(text_, value);
    return *this;
}

Sql& Sql::operator<<(SqlBlob value) {
    text_.reserve(text_.size() + value.bytes.size() + 16);
    text_ += "_binary'";  // otherwise the server checks the bytes as utf8mb4
    for (const char c : value.bytes) append_escaped(text_, c);
    text_ += '\'';
    return *this;
}

Sql& Sql::operator<<(const Sql& part) {
    text_ += part.text_;
    return *this;
}

Sql& Sql::identifier(std::string_view name) {
    text_ += '`';
    for (const char c : name) {
        if (c == '`') text_ += c;
        text_ += c;
    }
    text_ += '`';
    return *this;
}

Sql& Sql::ids(std::span<const Id> values) {
    if (values.empty()) throw std::logic_error("Sql::ids: an empty list");
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i > 0) text_ += ',';
        number(values[i]);
    }
    return *this;
}

Sql& Sql::texts(std::span<const std::string> values, std::size_t max_chars) {
    if (values.empty()) throw std::logic_error("Sql::texts: an empty list");
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i > 0) text_ += ',';
        append_text(text_, {values[i], max_chars});
    }
    return *this;
}

Sql Sql::in_ascii() const {
    constexpr std::string_view kBlob = "_binary";
    Sql ascii;
    bool inside = false, blob = false;
    for (std::size_t i = 0; i < text_.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text_[i]);
        if (byte >= 0x80 && inside && !blob) {
            if (byte >= 0xC0) ascii.text_ += '?';  // the first byte stands for the character
            continue;
        }
        ascii.text_ += text_[i];
        if (inside && byte == '\\' && i + 1 < text_.size()) {
            ascii.text_ += text_[++i];
        } else if (byte == '\'') {
            inside = !inside;
            blob = inside && std::string_view(text_).substr(0, i).ends_with(kBlob);
        }
    }
    return ascii;
}

Sql& Sql::number(std::int64_t value) {
    char buffer[24];
    text_.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
    return *this;
}

}  // namespace sluice
