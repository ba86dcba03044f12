// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/database_maker.h"

#include "db/mysql/schema_statements.h"

namespace sluice {
namespace {

constexpr int kSyntaxError = 1064;

/// user@host as GRANT takes it.
Sql account_name(const DbSettings& account, const std::string& from_host) {
    Sql name;
    return name << SqlText{account.user} << "@" << SqlText{from_host};
}

}  // namespace

DatabaseState DatabaseMaker::state(const std::string& name) {
    Sql exists("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name=");
    Rows schemata = admin_.query(exists << SqlText{name, 64});
    if (!schemata.next() || schemata.i64(0) == 0) return DatabaseState::kAbsent;
    Sql tables("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema=");
    Rows found = admin_.query(tables << SqlText{name, 64});
    return found.next() && found.i64(0) > 0 ? DatabaseState::kInUse : DatabaseState::kEmpty;
}

void DatabaseMaker::create(const std::string& name) {
    Sql sql("CREATE DATABASE ");
    admin_.execute(sql.identifier(name) << " CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci");
}

void DatabaseMaker::drop(const std::string& name) {
    Sql sql("DROP DATABASE ");
    admin_.execute(sql.identifier(name));
}

void DatabaseMaker::grant(const std::string& name, const DbSettings& account, const std::string& from_host) {
    const Sql user = account_name(account, from_host);
    Sql password(" IDENTIFIED BY ");
    password << SqlText{account.password};
    Sql rights("GRANT ALL PRIVILEGES ON ");
    rights.identifier(name) << ".* TO " << user;
    try {
        for (Sql verb : {Sql("CREATE USER IF NOT EXISTS "), Sql("ALTER USER ")})
            admin_.execute(verb << user << password);
    } catch (const DbError& e) {
        if (e.code() != kSyntaxError) throw;
        rights << password;  // MySQL before 5.7: GRANT makes the account
    }
    admin_.execute(rights);
}

// An index of MySQL before 5.7 has 767 bytes at most. A strict session refuses a longer one; others cut it.
void load_schema(Database& db) {
    db.execute(Sql("SET sql_mode='NO_ENGINE_SUBSTITUTION'"));
    for (std::size_t i = 0; i < kSchemaStatementCount; ++i) db.execute(schema_statement(i));
    db.disconnect();  // the next session is strict
}

}  // namespace sluice
