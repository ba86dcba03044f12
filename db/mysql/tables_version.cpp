// SPDX-License-Identifier: LGPL-3.0-or-later
// A new version of the tables is a row of kChanges: a statement forward, and one back. After a kill each is sent again,
// so it must do no harm when it is repeated.
#include "sluice/db/tables_version.h"
#include "sluice/base/process.h"

#include <fmt/core.h>

#include <iterator>

#include "db/mysql/errors.h"
#include "db/mysql/own_tables.h"
#include "db/mysql/turns.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"

namespace sluice {
namespace {

constexpr SqlLiteral kReadVersion{"SELECT value FROM sluice_marks WHERE name='tables version'"};

struct TableStatement {
    SqlLiteral table, text;  ///< left out where the table is not there: the program that fills it makes it as it is now
};
/// From a version to the next one, and back. A version that needs more than one statement makes this a list.
struct TableChange {
    TableStatement forward, back;
};

constexpr TableChange kChanges[] = {
    // Early programs kept rows of gangs that had no members left, and each start looked for them.
    {{"sluice_gang_wait", "DELETE FROM sluice_gang_wait WHERE members<=0"}, {"", ""}},
};
static_assert(std::size(kChanges) == kCurrentTables - kOldestTables);

bool has_table(Database& db, std::string_view name) {
    Sql sql("SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME=");
    return db.query(sql << SqlText{name}).next();
}

void run_statement(Database& db, const TableStatement& statement, const TellStatement& tell) {
    if (statement.table.text.empty() || !has_table(db, statement.table.text)) return;
    if (tell(std::string(statement.text.text))) db.execute(Sql(statement.text));
}

void write_version(Database& db, int version, const TellStatement& tell) {
    if (version == kOldestTables) {
        constexpr SqlLiteral kForget{"DELETE FROM sluice_marks WHERE name='tables version'"};
        if (tell(std::string(kForget.text)) && has_table(db, "sluice_marks")) db.execute(Sql(kForget));
        return;
    }
    if (!tell(fmt::format("sluice_marks: the version of the tables is {}", version))) return;
    make_marks(db);
    set_mark(db, "tables version", version);
}

}  // namespace

TablesVersion tables_version(Database& db) {
    try {
        Rows rows = db.query(Sql(kReadVersion));
        if (rows.next()) return {true, rows.i32(0)};
        return {true, kOldestTables};
    } catch (const DbError& e) {
        if (e.code() != kNoSuchTable) throw;
    }
    Rows rows = db.query(
        Sql("SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME LIKE 'sluice\\_%' "
            "AND TABLE_NAME NOT IN ('sluice_feeder','sluice_host_rpc') LIMIT 1"));
    if (!rows.next()) return {};
    return {true, kOldestTables};
}

std::optional<TablesVersion> readable_tables_version(Database& db) {
    try {
        return tables_version(db);
    } catch (const DbError& e) {
        if (e.kind() != DbError::Kind::kOther) throw;
        return std::nullopt;
    }
}

void require_known_tables(Database& db) {
    const auto known = readable_tables_version(db);
    if (!known) return;  // what the program does with the tables says so
    const TablesVersion& found = *known;
    if (found.number > kCurrentTables)
        throw ConfigError(
            fmt::format("The tables sluice_* are of version {}, and this program knows versions up to {}: install the "
                        "newer Sluice again, or call its sluice upgrade --to {} PROJECT first",
                        found.number, kCurrentTables, kCurrentTables));
    if (found.number < kCurrentTables)
        log_normal("The tables sluice_* are of version {}; this brings them to version {}: {}", found.number,
                   kCurrentTables, sluice_command("upgrade", "PROJECT"));
}

void change_tables(Database& db, int from, int to, const TellStatement& tell) {
    for (int version = from; version < to; ++version) {
        run_statement(db, kChanges[version - kOldestTables].forward, tell);
        write_version(db, version + 1, tell);
    }
    for (int version = from; version > to; --version) {
        run_statement(db, kChanges[version - 1 - kOldestTables].back, tell);
        write_version(db, version - 1, tell);
    }
}

}  // namespace sluice
