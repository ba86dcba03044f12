// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The tables of a project as db/schema.sql has them, and as its database has them.
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/db/database.h"

namespace sluice {

struct SchemaColumn {
    std::string table, name;
    std::string type;        ///< "int(11)", "varchar(191)"
    std::string definition;  ///< of db/schema.sql: the type and what follows it; found in a database: what follows it
    std::string rights{};    ///< found: "select,insert,update,references"

    // Statements that mend it, with the definition that it then has.
    std::string add(const std::string& wanted) const;
    std::string rename(const std::string& old_name, const std::string& wanted) const;
    std::string modify(const std::string& wanted) const;
};
struct SchemaIndex {
    std::string table;
    std::vector<std::string> columns;
    std::string definition{};  ///< "unique hap (host_id, app_version_id)"; empty: as found
    std::string add() const;   ///< the statement
};
struct Schema {
    std::map<std::string, std::string> tables;  ///< by name: the statement that makes it; views, too
    std::vector<SchemaColumn> columns;
    std::vector<SchemaIndex> indexes;  ///< those that have a name
};

/// db/schema.sql, as it was when this program was built.
Schema expected_schema();

/// The tables that upstream's schema lacks: each is made by the program that fills it.
std::span<const std::string_view> own_tables();

/// What the server lets an account do in the tables of which columns do not tell all.
class Grants {
  public:
    void add(const std::string& table, const std::string& right);
    /// On the whole table. SELECT, INSERT and UPDATE may be granted by column, too: SchemaColumn::rights tells.
    bool has(const std::string& table, const std::string& right) const;

  private:
    std::set<std::pair<std::string, std::string>> rights_;  ///< table, right
};

struct SchemaSurvey {
    Schema found;                                ///< its statements of tables are empty
    std::set<std::string> hidden;                ///< tables of which the account may not even know that they are there
    std::map<std::string, std::int64_t> newest;  ///< by table: the highest id that it has or has given out
    std::string account;                         ///< 'user'@'host', as GRANT takes it
    std::string database;
    Grants grants;
    bool read_only = false;
    bool takes_text_default = false;  ///< MariaDB, and MySQL since 8.0.13
};

/// What db/going_back.sql needs and the account may not do, in one line with the statement that grants it; empty:
/// nothing. Reads only. MySQL says nothing of DROP before it is used. Throws DbError.
std::string rights_missing_for_way_back(Database& db);

/// Reads only. Throws DbError.
SchemaSurvey survey_schema(Database& db, const Schema& expected);

}  // namespace sluice
