// SPDX-License-Identifier: LGPL-3.0-or-later
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "db/mysql/errors.h"
#include "db/mysql/own_tables.h"
#include "db/mysql/sql_without.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/db/late_schema.h"

namespace sluice {
namespace {

constexpr std::array<LateColumn, 5> kLateColumns = {
    {{"host", "p_ngpus", "0", false, "integer NOT NULL DEFAULT 0", "June 2017", 27017, "the number of GPUs"},
     {"host", "p_gpu_fpops", "0", false, "double NOT NULL DEFAULT 0", "June 2017", 27017, "the speed of GPUs"},
     {"workunit", "keywords", "''", true, "varchar(254) NOT NULL DEFAULT ''", "July 2017", 27018, "keywords of jobs"},
     {"workunit", "app_version_num", "0", true, "integer NOT NULL DEFAULT 0", "August 2017", 27019,
      "the version that a job is pinned to"},
     {"host", "misc", "''", false, "text NOT NULL /*M!100201 DEFAULT ('') */ /*!80013 DEFAULT ('') */", "November 2025",
      27030, "what clients say of Docker, VirtualBox, WSL and their GPUs"}}};

constexpr std::array<LateIndex, 2> kLateIndexes = {{{"result", "res_batch", "batch", "February 2025", 27029},
                                                    {"workunit", "wu_batch", "batch", "February 2025", 27029}}};

/// What stands between the first two quotes.
std::string_view first_quoted(std::string_view text) {
    const auto begin = text.find('\'');
    const auto end = text.find('\'', begin + 1);
    return begin == text.npos || end == text.npos ? std::string_view() : text.substr(begin + 1, end - begin - 1);
}

/// "h.misc", "host.misc" and "misc".
bool is_named(const LateColumn& column, std::string_view name) {
    const auto dot = name.rfind('.');
    if (dot == name.npos) return name == column.name;
    const std::string_view table = name.substr(0, dot);
    return name.substr(dot + 1) == column.name && (table == column.table || table == column.table.substr(0, 1));
}

}  // namespace

std::span<const LateColumn> late_columns() { return kLateColumns; }
std::span<const LateIndex> late_indexes() { return kLateIndexes; }

std::string LateColumn::add() const { return fmt::format("ALTER TABLE {} ADD COLUMN {} {};", table, name, definition); }

std::string LateColumn::told() const {
    return fmt::format("{}.{} is not in the database (BOINC has it since {}, db_revision {}): {}", table, name, since,
                       revision, must_be_kept ? "" : fmt::format("{} is not stored; ", what)) +
           fmt::format("add it by {} or by html/ops/upgrade_db.php", add());
}

std::string LateIndex::add() const { return fmt::format("ALTER TABLE {} ADD INDEX {} ({});", table, name, column); }

std::string LateIndex::told() const {
    return fmt::format(
        "{} has no index {} (BOINC has it since {}, db_revision {}): what looks for jobs of a batch reads the whole "
        "table; add it by {} or by html/ops/upgrade_db.php",
        table, name, since, revision, add());
}

bool MissingSchema::learn(int code, std::string_view server_text, Time now) {
    const std::string name(first_quoted(server_text));
    if (code == kNoSuchIndex) {
        if (name.empty() || std::ranges::find(indexes_, name) != indexes_.end()) return false;
        indexes_.push_back(name);
        learned_ = now;
        const auto late = std::ranges::find(kLateIndexes, name, &LateIndex::name);
        log_once_a_day(LogLevel::kWarning, late != kLateIndexes.end()
                                               ? late->told()
                                               : fmt::format("{}: whole tables are read without it", server_text));
        return true;
    }
    if (code != kNoSuchColumn) return false;
    const auto late = std::ranges::find_if(kLateColumns, [&](const auto& c) { return is_named(c, name); });
    if (late == kLateColumns.end() || std::ranges::find(columns_, &*late) != columns_.end()) return false;
    columns_.push_back(&*late);
    learned_ = now;
    if (!late->must_be_kept) log_once_a_day(LogLevel::kWarning, late->told());  // otherwise nothing is lost in silence
    return true;
}

void MissingSchema::forget_old(Time now) {
    if (!nothing() && now - learned_ > kKept) *this = MissingSchema();
}

std::string MissingSchema::adapt(std::string statement) const {
    for (const LateColumn* late : columns_) {
        if (statement.find(late->name) == std::string::npos) continue;
        auto without = without_column(statement, {late->table, late->name, late->instead, late->must_be_kept});
        if (!without)
            throw DbError(DbError::Kind::kOther, kNoSuchColumn,
                          fmt::format("{} can't be stored: {}", late->what, late->told()));
        statement = *std::move(without);
    }
    for (const std::string& index : indexes_)
        if (statement.find(index) != std::string::npos) statement = without_index(statement, index);
    return statement;
}

}  // namespace sluice
