// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/database_maker.h"

#include <fmt/format.h>

#include "db/mysql/schema_statements.h"
#include "sluice/base/error.h"

namespace sluice {
namespace {

constexpr int kSyntaxError = 1064, kCannotUser = 1396;

/// user@host as GRANT takes it.
Sql account_name(const std::string& user, const std::string& from_host) {
    Sql name;
    return name << SqlText{user} << "@" << SqlText{from_host};
}

bool can_log_in(DbSettings account) {
    account.name.clear();
    try {
        Database(account).query(Sql("SELECT 1"));
        return true;
    } catch (const DbError&) {
        return false;
    }
}

/// True, too, if `admin` may not look.
bool has_rights_elsewhere(Database& admin, const Sql& user, const std::string& name) {
    Sql show("SHOW GRANTS FOR "), quoted;
    const std::string here = " ON " + quoted.identifier(name).str() + ".";
    try {
        for (Rows rights = admin.query(show << user); rights.next();)
            if (const std::string right = rights.text(0);
                !right.starts_with("GRANT USAGE ON *.*") && right.find(here) == right.npos)
                return true;
        return false;
    } catch (const DbError&) {
        return true;
    }
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

void DatabaseMaker::wait_for_others() {
    Sql sql("SELECT GET_LOCK('sluice_make_project',");
    Rows lock = admin_.query(sql << patience_ << ")");
    if (!lock.next() || lock.i64(0) != 1)
        throw ConfigError(
            fmt::format("Another make_project has been making an account on this database server for {} s. Call this "
                        "again when it has ended; SELECT IS_USED_LOCK('sluice_make_project') names its connection",
                        patience_));
}

bool DatabaseMaker::grant(const std::string& name, const DbSettings& account, const std::string& from_host) {
    const Sql user = account_name(account.user, from_host);
    Sql password(" IDENTIFIED BY "), create("CREATE USER "), change("ALTER USER "), rights("GRANT ALL PRIVILEGES ON ");
    password << SqlText{account.password};
    rights.identifier(name) << ".* TO " << user;
    // Until it has rights, an account that another make_project has just made looks as if it served nothing.
    wait_for_others();
    bool made = true;
    try {
        admin_.execute(create << user << password);
    } catch (const DbError& e) {
        if (e.code() != kCannotUser) throw;
        made = false;
    }
    if (!made && !can_log_in(account)) {
        if (has_rights_elsewhere(admin_, user, name))
            throw ConfigError(
                fmt::format("The database account '{}'@'{}' exists, and serves something else, which a new "
                            "password would lock out. Give its password with --db_passwd_file, or choose "
                            "another --db_user",
                            account.user, from_host));
        try {
            admin_.execute(change << user << password);
        } catch (const DbError& e) {
            if (e.code() != kSyntaxError) throw;
            rights << password;  // MySQL before 5.7: GRANT sets it
        }
    }
    try {
        admin_.execute(rights);
    } catch (const DbError&) {
        if (made) drop_account(account.user, from_host);
        throw;
    }
    admin_.query(Sql("SELECT RELEASE_LOCK('sluice_make_project')"));
    return made;
}

void DatabaseMaker::drop_account(const std::string& user, const std::string& from_host) {
    Sql sql("DROP USER ");
    admin_.execute(sql << account_name(user, from_host));
}

// An index of MySQL before 5.7 has 767 bytes at most. A strict session refuses a longer one; others cut it.
void load_schema(Database& db) {
    db.execute(Sql("SET sql_mode='NO_ENGINE_SUBSTITUTION'"));
    for (std::size_t i = 0; i < kSchemaStatementCount; ++i) db.execute(schema_statement(i));
    db.disconnect();  // the next session is strict
}

}  // namespace sluice
