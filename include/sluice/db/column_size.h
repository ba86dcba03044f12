// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// How long the documents of jobs and app versions may be is a matter of their columns' types: projects enlarge some. A
// server that is not strict cuts what is too long without a word, so who writes a row asks first.
#include <cstdint>
#include <string>
#include <utility>

#include "sluice/db/database.h"

namespace sluice {

struct ColumnSize {
    std::string table, column;
    std::string type = "blob";
    std::uint64_t bytes = 65535;
    bool nullable = true;

    /// "" if so many bytes fit. Else one line: both sizes, and the ALTER TABLE that makes room.
    std::string refusal(std::size_t needed) const;
};

/// As the database has it; of a column that is not there, a blob's.
ColumnSize column_size(Database& db, const std::string& table, const std::string& column);
/// ColumnSize::refusal() of such a column; up to 65535 bytes, which all of them hold, the database is not asked.
std::string why_too_long(Database& db, const std::pair<std::string, std::string>& table_and_column, std::size_t needed);

}  // namespace sluice
