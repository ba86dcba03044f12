#pragma once
// One UPDATE for many rows with different values: ELT(INTERVAL(id, 3,7,9), 'a','b','c'). INTERVAL finds the row's place
// by binary search, so that the statement's cost is linear in its length, and a single-table UPDATE over a forced
// primary key locks its rows in the order of their ids, which every process of ours shares.
#include <charconv>
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

/// The value of each row of `items`, which are sorted by id without repetition. `column` names the id.
template <typename Items, typename Value>
void by_id(Sql& sql, SqlLiteral column, const Items& items, Value value) {
    sql << "ELT(INTERVAL(" << column;
    for (const auto& item : items) sql << "," << item.id;
    sql << ")";
    for (const auto& item : items) {
        sql << ",";
        put(sql, value(item));
    }
    sql << ")";
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
