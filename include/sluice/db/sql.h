// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The text of a statement. It can be made of literals of our source, numbers and escaped text only: text from a
// client can't reach the server as SQL. For what parameters can't do well (bulk writes, IN lists, one-shot CGI).
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sluice/model/codes.h"

namespace sluice {

/// A string literal of our source: the constructor runs at compile time only.
struct SqlLiteral {
    consteval SqlLiteral(const char* literal) : text(literal) {}  // NOLINT: implicit on purpose
    std::string_view text;
};

/// A text value: quoted and escaped. For varchar and text columns: bytes that are not UTF-8 are taken as Latin-1
/// (strict SQL mode refuses them otherwise) and the text is cut to `max_chars` characters.
struct SqlText {
    std::string_view text;
    std::size_t max_chars = 254;
};
/// A blob value: any bytes, quoted and escaped, never cut (the caller keeps to the column's 65535 bytes).
struct SqlBlob {
    std::string_view bytes;
};

class Sql {
  public:
    Sql() = default;
    Sql(SqlLiteral literal) { *this << literal; }  // NOLINT: implicit on purpose

    Sql& operator<<(SqlLiteral literal);
    Sql& operator<<(double value);  ///< 17 digits; NaN and infinities are written as 0
    template <std::integral T>
    Sql& operator<<(T value) {
        return number(static_cast<std::int64_t>(value));
    }
    template <typename E>
    requires std::is_enum_v<E> Sql& operator<<(E value) { return number(static_cast<std::int64_t>(value)); }
    Sql& operator<<(SqlText value);
    Sql& operator<<(SqlBlob value);
    Sql& operator<<(const Sql& part);
    /// `name`: of a table or column; backquotes in it are doubled.
    Sql& identifier(std::string_view name);
    /// 1,2,3 — the list must not be empty.
    Sql& ids(std::span<const Id> values);
    /// 'a','b' — the list must not be empty.
    Sql& texts(std::span<const std::string> values, std::size_t max_chars = 254);

    /// The same with '?' for each character of its texts that is not ASCII; blobs stay as they are.
    Sql in_ascii() const;
    const std::string& str() const { return text_; }
    std::size_t size() const { return text_.size(); }

  private:
    Sql& number(std::int64_t value);
    std::string text_;
};

}  // namespace sluice
