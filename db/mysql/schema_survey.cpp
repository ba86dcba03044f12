// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/schema_survey.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "db/mysql/errors.h"
#include "db/mysql/schema_statements.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

/// "key NAME (a, b desc)", "unique NAME (a)": of indexes with a name.
void add_index(const std::string& table, const std::string& line, Schema& schema) {
    const std::string_view text = line;
    const auto open = text.find('('), close = text.rfind(')');
    const auto words = split(text.substr(0, open), ' ');
    if (open == text.npos || words.size() < 2 || words[1].empty() || (words[0] != "key" && words[0] != "unique"))
        return;
    SchemaIndex index{table, {}, line};
    for (const std::string_view column : split(text.substr(open + 1, close - open - 1), ',')) {
        const std::string_view name = trim(column);
        index.columns.emplace_back(name.substr(0, name.find(' ')));
    }
    schema.indexes.push_back(std::move(index));
}

void add_line(const std::string& table, std::string line, Schema& schema) {
    if (line.ends_with(',')) line.pop_back();
    const std::string word = line.substr(0, line.find(' '));
    const bool is_key =
        word == "primary" || word == "unique" || word == "key" || word == "fulltext" || word == "foreign";
    if (is_key) return add_index(table, line, schema);
    const std::string definition(trim(line.substr(word.size())));
    const bool is_unsigned = definition.find(" unsigned") != std::string::npos;
    const std::string type = definition.substr(0, definition.find(' ')) + (is_unsigned ? " unsigned" : "");
    schema.columns.push_back({table, word, type, definition});
}

/// What stands behind a column's type: "NOT NULL DEFAULT 0 AUTO_INCREMENT". `given`: the default as
/// information_schema has it, of a number; MariaDB writes NULL, and MySQL marks an expression by DEFAULT_GENERATED.
std::string behind_type(bool nullable, const std::string& given, const std::string& extra) {
    std::string text = nullable ? "NULL" : "NOT NULL";
    const bool is_expression = extra.find("default_generated") != std::string::npos;
    if (!given.empty() && given != "NULL") text += " DEFAULT " + (is_expression ? "(" + given + ")" : given);
    return text + (extra.find("auto_increment") != std::string::npos ? " AUTO_INCREMENT" : "");
}

void read_columns(Database& db, Schema& found) {
    Rows rows =
        db.query(Sql("SELECT table_name, column_name, column_type, privileges, is_nullable, "
                     "COALESCE(column_default,''), extra FROM information_schema.columns WHERE "
                     "table_schema=DATABASE() ORDER BY table_name, ordinal_position"));
    while (rows.next()) {
        found.columns.push_back(
            {to_lower_ascii(rows.text(0)), to_lower_ascii(rows.text(1)), to_lower_ascii(rows.text(2)),
             behind_type(rows.text(4) == "YES", rows.text(5), to_lower_ascii(rows.text(6))), rows.text(3)});
        found.tables[found.columns.back().table];
    }
}

void read_indexes(Database& db, Schema& found) {
    Rows rows = db.query(
        Sql("SELECT table_name, index_name, column_name, seq_in_index FROM information_schema.statistics WHERE "
            "table_schema=DATABASE() ORDER BY table_name, index_name, seq_in_index"));
    while (rows.next()) {
        if (rows.i64(3) == 1) found.indexes.push_back({to_lower_ascii(rows.text(0)), {}});
        found.indexes.back().columns.push_back(to_lower_ascii(rows.text(2)));
    }
}

/// The server shows no table of which the account has no right: does it say that it is not there?
bool is_hidden(Database& db, const std::string& table) {
    try {
        Sql sql("SELECT 1 FROM ");
        db.query(sql.identifier(table) << " LIMIT 0");
    } catch (const DbError& e) {
        return e.code() != kNoSuchTable;
    }
    return false;
}

constexpr int kDatabaseDenied = 1044, kTableDenied = 1142;

/// Whether the server lets the account do this. PREPARE judges the rights and does nothing.
bool may(Database& db, const Sql& statement) {
    const std::string& text = statement.str();
    try {
        Sql prepare("PREPARE sluice_asks FROM ");
        db.execute(prepare << SqlText{text});
    } catch (const DbError& e) {
        if (e.kind() != DbError::Kind::kOther) throw;
        return e.code() != kTableDenied && e.code() != kDatabaseDenied;  // a table that is not there may be used
    }
    return true;
}

/// Grants alone are not enough. Those to 'x'@'%' may count for 'x'@'localhost'. Of two patterns of a database's name
/// the narrower one counts. And there are roles, PUBLIC and partial revokes. The server knows. Of a table that is there
/// its columns tell the rest.
Grants read_grants(Database& db, const Schema& found) {
    constexpr std::string_view kDelete = "DELETE";
    struct Question {
        std::string_view right;
        SqlLiteral before, behind;
    };
    constexpr Question kQuestions[] = {{"SELECT", "SELECT 1 FROM ", ""},
                                       {"INSERT", "INSERT INTO ", " VALUES ()"},
                                       {"UPDATE", "UPDATE ", " SET id=0 WHERE 0"},
                                       {kDelete, "DELETE FROM ", " WHERE 0"},
                                       {"CREATE", "CREATE TABLE IF NOT EXISTS ", " (id int)"}};
    std::vector<std::string> tables{"assignment"};
    for (const std::string_view own : own_tables()) tables.emplace_back(own);
    Grants grants;
    for (const std::string& table : tables)
        for (const Question& q : kQuestions) {
            if (found.tables.contains(table) && q.right != kDelete) continue;
            Sql statement(q.before);
            if (may(db, statement.identifier(table) << q.behind)) grants.add(table, std::string(q.right));
        }
    return grants;
}

/// What AUTO_INCREMENT gave out may be deleted since.
void read_newest(Database& db, SchemaSurvey& survey) {
    Rows counters = db.query(
        Sql("SELECT table_name, auto_increment FROM information_schema.tables WHERE table_schema=DATABASE() AND "
            "auto_increment IS NOT NULL"));
    while (counters.next())
        survey.newest[to_lower_ascii(counters.text(0))] = std::max<std::int64_t>(counters.i64(1) - 1, 0);
    for (auto& [name, newest] : survey.newest) {
        const std::string& table = name;  // clang 14 captures no structured binding
        const auto is_id = [&](const SchemaColumn& c) {
            return c.table == table && c.name == "id" && c.rights.find("select") != std::string::npos;
        };
        if (std::ranges::none_of(survey.found.columns, is_id)) continue;
        Sql sql("SELECT MAX(id) FROM ");
        Rows rows = db.query(sql.identifier(table));
        if (rows.next()) newest = std::max(newest, rows.i64(0));
    }
}

void read_server(Database& db, SchemaSurvey& survey) {
    Rows rows = db.query(Sql("SELECT VERSION(), @@read_only, CURRENT_USER(), DATABASE()"));
    if (!rows.next()) return;
    const std::string version = rows.text(0);
    survey.read_only = rows.flag(1);
    const std::string user = rows.text(2);
    const auto at = user.rfind('@');
    survey.account = "'" + user.substr(0, at) + "'@'" + user.substr(at + 1) + "'";
    survey.database = rows.text(3);
    int major = 0, minor = 0, patch = 0;
    char dot = '.';
    std::istringstream(version) >> major >> dot >> minor >> dot >> patch;
    survey.takes_text_default =
        version.find("MariaDB") != std::string::npos || major * 10000 + minor * 100 + patch >= 80013;
}

}  // namespace

void Grants::add(const std::string& table, const std::string& right) { rights_.emplace(table, right); }
bool Grants::has(const std::string& table, const std::string& right) const { return rights_.contains({table, right}); }

std::string SchemaColumn::add(const std::string& wanted) const {
    return fmt::format("ALTER TABLE {} ADD COLUMN {} {};", table, name, wanted);
}

std::string SchemaColumn::rename(const std::string& old_name, const std::string& wanted) const {
    return fmt::format("ALTER TABLE {} CHANGE {} {} {};", table, old_name, name, wanted);
}

std::string SchemaColumn::modify(const std::string& wanted) const {
    return fmt::format("ALTER TABLE {} MODIFY {} {};", table, name, wanted);
}

std::string SchemaIndex::add() const { return fmt::format("ALTER TABLE {} ADD {};", table, definition); }

Schema expected_schema() {
    Schema schema;
    for (std::size_t i = 0; i < kSchemaStatementCount; ++i) {
        const std::string statement = schema_statement(i).str();
        std::istringstream lines(statement);
        std::string line;
        std::getline(lines, line);
        const auto words = split(line, ' ');
        if (words.size() < 3 || words[0] != "create") continue;
        const std::string name(words[2]);
        const bool is_table = words[1] == "table";
        std::string& whole = schema.tables[name];
        whole = line;
        while (std::getline(lines, line)) {
            std::string text(trim(line));
            for (auto at = text.find("  "); at != std::string::npos; at = text.find("  ")) text.erase(at, 1);
            whole += (text.empty() ? "" : " ") + text;
            if (is_table && !text.empty() && text[0] != ')') add_line(name, text, schema);
        }
        whole += ";";
    }
    return schema;
}

std::string rights_missing_for_way_back(Database& db) {
    struct Statement {
        std::string_view right;
        SqlLiteral text;
    };
    constexpr Statement kStatements[] = {
        {"SELECT", "SELECT id,homogeneous_redundancy FROM app WHERE 0"},
        {"UPDATE",
         "UPDATE workunit SET target_nresults=0,priority=0,hr_class=0,error_mask=0,transition_time=0 WHERE 0"},
        {"UPDATE", "UPDATE result SET priority=0 WHERE 0"},
        {"SELECT", "SELECT 1 FROM sluice_accel_job,sluice_accel_result,sluice_gang_job WHERE 0"},
        {"DELETE", "DELETE FROM sluice_accel_job WHERE 0"},
        {"DELETE", "DELETE FROM sluice_accel_result WHERE 0"},
        {"CREATE", "CREATE TABLE IF NOT EXISTS sluice_gang_job (id int)"},
        // PREPARE does not judge DROP TABLE. This takes both rights.
        {"DROP", "CREATE OR REPLACE TABLE sluice_gang_job (id int)"}};
    std::vector<std::string> missing;
    for (const Statement& statement : kStatements) {
        const std::string right(statement.right);
        if (std::ranges::find(missing, right) == missing.end() && !may(db, Sql(statement.text)))
            missing.push_back(right);
    }
    if (missing.empty()) return {};
    SchemaSurvey survey;
    read_server(db, survey);
    return fmt::format(
        "{} lacks rights that the way back (sluice revert) needs in database {}: {}; as the server's root: GRANT SELECT, "
        "INSERT, UPDATE, DELETE, CREATE, ALTER, DROP ON `{}`.* TO {};",
        survey.account, survey.database, fmt::join(missing, ", "), survey.database, survey.account);
}

SchemaSurvey survey_schema(Database& db, const Schema& expected) {
    SchemaSurvey survey;
    read_server(db, survey);
    read_columns(db, survey.found);
    read_indexes(db, survey.found);
    for (const auto& [table, statement] : expected.tables)
        if (!survey.found.tables.contains(table) && is_hidden(db, table)) survey.hidden.insert(table);
    survey.grants = read_grants(db, survey.found);
    read_newest(db, survey);
    return survey;
}

}  // namespace sluice
