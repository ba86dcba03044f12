// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/column_size.h"

#include <fmt/format.h>

namespace sluice {

std::string ColumnSize::refusal(std::size_t needed) const {
    if (needed <= bytes) return "";
    constexpr std::size_t kMedium = (std::size_t{1} << 24) - 1;
    const char* family = type.find("text") != std::string::npos ? "text" : "blob";
    return fmt::format(
        "{} bytes are too long for the column {}.{}, a {} of at most {} bytes. Shorten it, or give the database: ALTER "
        "TABLE {} MODIFY {} {}{}{};",
        needed, table, column, type, bytes, table, column, needed <= kMedium ? "medium" : "long", family,
        nullable ? "" : " NOT NULL");
}

ColumnSize column_size(Database& db, const std::string& table, const std::string& column) {
    ColumnSize size{table, column};
    Sql sql(
        "SELECT data_type, character_octet_length, is_nullable FROM information_schema.columns WHERE "
        "table_schema=DATABASE() AND table_name=");
    Rows rows = db.query(sql << SqlText{table} << " AND column_name=" << SqlText{column});
    if (!rows.next() || rows.i64(1) <= 0) return size;
    size.type = rows.text(0);
    size.bytes = static_cast<std::uint64_t>(rows.i64(1));
    size.nullable = rows.text(2) == "YES";
    return size;
}

std::string why_too_long(Database& db, const std::pair<std::string, std::string>& table_and_column,
                         std::size_t needed) {
    if (needed <= ColumnSize{}.bytes) return "";
    return column_size(db, table_and_column.first, table_and_column.second).refusal(needed);
}

}  // namespace sluice
