#include "sluice/db/database_maker.h"

#include <array>

#include "db/mysql/schema_statements.h"

namespace sluice {
namespace {

/// A name as an identifier inside a statement that the server puts together: `a``b`.
Sql identifier(const std::string& name) {
    Sql sql("'`', REPLACE(");
    return sql << SqlText{name, 64} << ", '`', '``'), '`'";
}

/// A text as a literal inside such a statement.
Sql literal(const std::string& text) {
    Sql sql("QUOTE(");
    return sql << SqlText{text} << ")";
}

/// Identifiers can't be written into an Sql: the server builds the statement from texts.
void execute_built(Database& db, const Sql& parts) {
    Sql build("SET @sluice_statement = CONCAT(");
    db.execute(build << parts << ")");
    db.execute(Sql("PREPARE sluice_statement FROM @sluice_statement"));
    db.execute(Sql("EXECUTE sluice_statement"));
    db.execute(Sql("DEALLOCATE PREPARE sluice_statement"));
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
    Sql parts("'CREATE DATABASE ', ");
    execute_built(admin_, parts << identifier(name) << ", ' CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci'");
}

void DatabaseMaker::drop(const std::string& name) {
    Sql parts("'DROP DATABASE ', ");
    execute_built(admin_, parts << identifier(name));
}

void DatabaseMaker::grant(const std::string& name, const DbSettings& account, const std::string& from_host) {
    Sql user;
    user << literal(account.user) << ", '@', " << literal(from_host);
    Sql create("'CREATE USER IF NOT EXISTS ', ");
    execute_built(admin_, create << user << ", ' IDENTIFIED BY ', " << literal(account.password));
    Sql set_password("'ALTER USER ', ");
    execute_built(admin_, set_password << user << ", ' IDENTIFIED BY ', " << literal(account.password));
    Sql rights("'GRANT ALL PRIVILEGES ON ', ");
    execute_built(admin_, rights << identifier(name) << ", '.* TO ', " << user);
}

void load_schema(Database& db) {
    for (std::size_t i = 0; i < kSchemaStatementCount; ++i) db.execute(schema_statement(i));
}

}  // namespace sluice
