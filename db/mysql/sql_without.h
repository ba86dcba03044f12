// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Statements for a database that lacks a column or an index which they name. Only what stands outside quoted texts is
// looked at: what a client sent is never taken for SQL.
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// A column that the database may lack.
struct SqlColumn {
    std::string_view table, name;
    std::string_view instead;   ///< what is read, as SQL
    bool must_be_kept = false;  ///< a statement that writes another value can't do without the column
};

/// The column is read as `instead` and written nowhere. It is found by its name alone where the statement is about its
/// table, else by TABLE.NAME, or NAME behind the table's first letter. Several statements may stand behind each other,
/// each with its ';'. nullopt: a value would be lost.
std::optional<std::string> without_column(std::string_view statement, const SqlColumn& column);
/// Without FORCE INDEX (index).
std::string without_index(std::string_view statement, std::string_view index);

}  // namespace sluice
