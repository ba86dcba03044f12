// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Statements for many rows. One UPDATE for many rows with different values: ELT(INTERVAL(id, 3,7,9), 'a','b','c').
// INTERVAL finds the row's place by binary search, so the statement's cost is linear in its length. A single-table
// UPDATE over a forced primary key locks its rows in the order of their ids, which every process of ours shares.
#include <algorithm>
#include <charconv>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "sluice/db/sql.h"

namespace sluice::bulk {

/// A number as a quoted text: a numeric literal inside ELT would be rounded to 15 digits.
inline void put(Sql& sql, double value) {
    if (!(value - value == 0)) value = 0;  // NaN and infinities
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    sql << SqlText{{buffer, static_cast<std::size_t>(end - buffer)}};
}
inline void put(Sql& sql, std::int64_t value) { sql << value; }
inline void put(Sql& sql, SqlBlob value) { sql << value; }

inline bool same(double a, double b) { return a == b; }
inline bool same(std::int64_t a, std::int64_t b) { return a == b; }
inline bool same(SqlBlob a, SqlBlob b) { return a.bytes == b.bytes; }

/// The value of each row of `items`, which are sorted by id without repetition. `column` names the id. One value that
/// all have stands for itself: the server has less to parse and to compute. The statement asks for these ids alone.
template <typename Items, typename Value>
void by_id(Sql& sql, SqlLiteral column, const Items& items, Value value) {
    const auto first = std::begin(items);
    if (std::all_of(first, std::end(items), [&](const auto& item) { return same(value(item), value(*first)); }))
        return put(sql, value(*first));
    sql << "ELT(INTERVAL(" << column;
    for (const auto& item : items) sql << "," << item.id;
    sql << ")";
    for (const auto& item : items) {
        sql << ",";
        put(sql, value(item));
    }
    sql << ")";
}

/// (…),(…): `row` writes what stands between the parentheses.
template <typename Items, typename Row>
void rows(Sql& sql, const Items& items, Row row) {
    SqlLiteral opening("(");
    for (const auto& item : items) {
        sql << opening;
        row(item);
        sql << ")";
        opening = ",(";
    }
}

/// Which rows have one of these pairs in columns `first` and `second`, as alternatives. For (first,second) IN (…) MySQL
/// before 5.7 reads every row, and FOR UPDATE locks them all.
template <typename Pairs>
void pairs(Sql& sql, SqlLiteral first, SqlLiteral second, const Pairs& pairs) {
    SqlLiteral opening("(");
    for (const auto& pair : pairs) {
        sql << opening << first << "=" << pair.first << " AND " << second << "=" << pair.second;
        opening = " OR ";
    }
    sql << ")";
}

/// `all` in parts of at most `most`: a statement each.
template <typename T>
std::vector<std::span<const T>> parts(std::span<const T> all, std::size_t most) {
    std::vector<std::span<const T>> found;
    for (std::size_t i = 0; i < all.size(); i += most) found.push_back(all.subspan(i, std::min(most, all.size() - i)));
    return found;
}
template <typename T>
std::vector<std::span<const T>> parts(const std::vector<T>& all, std::size_t most) {
    return parts(std::span(all), most);
}

template <typename Items>
void id_list(Sql& sql, const Items& items) {
    bool first = true;
    for (const auto& item : items) {
        if (!first) sql << ",";
        sql << item.id;
        first = false;
    }
}

}  // namespace sluice::bulk
