// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/options/schema_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "sluice/base/text.h"
#include "sluice/db/late_schema.h"

namespace sluice {

ColumnRange column_range(const std::string& type) {
    using Kind = ColumnRange::Kind;
    struct Row {
        std::string_view name;
        Kind kind;
        double most;  ///< of whole numbers: bits
    };
    static constexpr Row kRows[] = {{"tinyint", Kind::kWhole, 8},
                                    {"smallint", Kind::kWhole, 16},
                                    {"mediumint", Kind::kWhole, 24},
                                    {"int", Kind::kWhole, 32},
                                    {"integer", Kind::kWhole, 32},
                                    {"bigint", Kind::kWhole, 64},
                                    {"serial", Kind::kWhole, 65},
                                    {"double", Kind::kReal, 15},
                                    {"float", Kind::kReal, 6},
                                    {"char", Kind::kText, 1},
                                    {"varchar", Kind::kText, 1},
                                    {"binary", Kind::kText, 1},
                                    {"varbinary", Kind::kText, 1},
                                    {"tinytext", Kind::kText, 255},
                                    {"tinyblob", Kind::kText, 255},
                                    {"text", Kind::kText, 65535},
                                    {"blob", Kind::kText, 65535},
                                    {"mediumtext", Kind::kText, 16777215},
                                    {"mediumblob", Kind::kText, 16777215},
                                    {"longtext", Kind::kText, 4294967295.},
                                    {"longblob", Kind::kText, 4294967295.},
                                    {"timestamp", Kind::kTime, 0},
                                    {"datetime", Kind::kTime, 0}};
    const std::string_view word = std::string_view(type).substr(0, type.find_first_of(" ("));
    const auto* row = std::ranges::find(kRows, word, &Row::name);
    if (row == std::end(kRows)) return {};
    double most = row->most;
    if (row->kind == Kind::kWhole) {
        const bool is_unsigned = type.find("unsigned") != std::string::npos;
        most = std::exp2(most - (is_unsigned ? 0 : 1)) - 1;
    }
    const auto open = type.find('(');
    if (row->kind == Kind::kText && open != std::string::npos) most = std::atof(type.c_str() + open + 1);
    return {row->kind, most};
}

namespace {

/// Of the web pages alone.
bool is_of_pages(std::string_view table, std::string_view column = "") {
    static constexpr std::string_view kTables[] = {"token",       "user_deleted",   "host_deleted", "consent_type",
                                                   "consent",     "latest_consent", "team_delta",   "job_file",
                                                   "credit_user", "credit_team",    "credited_job", "user_submit_app"};
    static constexpr std::string_view kColumns[] = {"user.login_token", "user.login_token_time",
                                                    "user.previous_email_addr", "user.email_addr_change_time",
                                                    "team.mod_time"};
    return std::ranges::find(kTables, table) != std::end(kTables) ||
           std::ranges::find(kColumns, fmt::format("{}.{}", table, column)) != std::end(kColumns);
}

constexpr std::string_view kOnlyPages = "Sluice does without, BOINC's web pages do not";

/// `default ('')` of a text is refused by older MySQL.
std::string definition_for(std::string definition, const SchemaSurvey& survey) {
    if (!survey.takes_text_default) replace_all(definition, " default ('')", "");
    return definition;
}

const SchemaColumn* find(const Schema& schema, std::string_view table, std::string_view name) {
    const auto is = [&](const SchemaColumn& c) { return c.table == table && c.name == name; };
    const auto at = std::ranges::find_if(schema.columns, is);
    return at == schema.columns.end() ? nullptr : &*at;
}

void missing_tables(const Schema& expected, const SchemaSurvey& survey, SchemaFindings& found) {
    for (const auto& [table, statement] : expected.tables) {
        if (survey.found.tables.contains(table) || survey.hidden.contains(table)) continue;
        if (is_of_pages(table))
            found.warnings.push_back(
                fmt::format("the database has no table {}: {}; make it: {}", table, kOnlyPages, statement));
        else
            found.errors.push_back(
                fmt::format("the database has no table {}: programs stop at it; make it: {}", table, statement));
    }
}

void missing_columns(const Schema& expected, const SchemaSurvey& survey, SchemaFindings& found) {
    for (const SchemaColumn& column : expected.columns) {
        if (!survey.found.tables.contains(column.table) || find(survey.found, column.table, column.name)) continue;
        const auto late = std::ranges::find_if(
            late_columns(), [&](const LateColumn& c) { return c.table == column.table && c.name == column.name; });
        const std::string definition = definition_for(column.definition, survey);
        const bool renamed = column.table == "job_file" && find(survey.found, "job_file", "md5") != nullptr;
        const std::string add = renamed ? column.rename("md5", definition) : column.add(definition);
        if (late != late_columns().end())
            found.warnings.push_back(late->told());
        else if (is_of_pages(column.table, column.name))
            found.warnings.push_back(fmt::format("{}.{} is not in the database: {}; add it: {}", column.table,
                                                 column.name, kOnlyPages, add));
        else
            found.errors.push_back(fmt::format(
                "{}.{} is not in the database: programs that read it stop; add it by {} or by html/ops/upgrade_db.php",
                column.table, column.name, add));
    }
}

/// Indexes without which programs read whole tables, or have no unique key to go by.
void missing_indexes(const Schema& expected, const SchemaSurvey& survey, SchemaFindings& found) {
    for (const SchemaIndex& index : expected.indexes) {
        static constexpr std::string_view kTables[] = {"result", "workunit", "host_app_version", "msg_to_host"};
        if (std::ranges::find(kTables, index.table) == std::end(kTables) || !survey.found.tables.contains(index.table))
            continue;
        const auto serves = [&](const SchemaIndex& other) {
            return other.table == index.table && other.columns.size() >= index.columns.size() &&
                   std::equal(index.columns.begin(), index.columns.end(), other.columns.begin());
        };
        if (std::ranges::any_of(survey.found.indexes, serves)) continue;
        const auto late = std::ranges::find_if(late_indexes(), [&](const LateIndex& l) {
            return l.table == index.table && l.column == index.columns.front();
        });
        found.warnings.push_back(
            late != late_indexes().end()
                ? late->told()
                : fmt::format(
                      "{} has no index that begins with ({}): what looks for these reads the whole table; add it: {}",
                      index.table, fmt::join(index.columns, ", "), index.add()));
    }
}

void types_that_hold_less(const Schema& expected, const SchemaSurvey& survey, SchemaFindings& found) {
    for (const SchemaColumn& column : expected.columns) {
        const SchemaColumn* there = find(survey.found, column.table, column.name);
        if (there == nullptr || is_of_pages(column.table, column.name)) continue;
        const ColumnRange wanted = column_range(column.type), is = column_range(there->type);
        const std::string statement = column.modify(definition_for(column.definition, survey));
        if (is.kind != wanted.kind && is.kind != ColumnRange::Kind::kOther)
            found.errors.push_back(fmt::format("{}.{} is a {}, and programs store a {} there: {}", column.table,
                                               column.name, there->type, column.type, statement));
        else if (is.kind == wanted.kind && is.most < wanted.most && column.type != "serial")
            found.warnings.push_back(
                fmt::format("{}.{} is a {}, which holds less than a {}: values are cut or refused: {}", column.table,
                            column.name, there->type, column.type, statement));
    }
}

struct Reference {
    std::string_view table, column, of;
};
constexpr std::array kReferences = {Reference{"app_version", "appid", "app"},
                                    Reference{"app_version", "platformid", "platform"},
                                    Reference{"user", "teamid", "team"},
                                    Reference{"team", "userid", "user"},
                                    Reference{"host", "userid", "user"},
                                    Reference{"host_app_version", "host_id", "host"},
                                    Reference{"workunit", "appid", "app"},
                                    Reference{"workunit", "batch", "batch"},
                                    Reference{"workunit", "canonical_resultid", "result"},
                                    Reference{"workunit", "app_version_id", "app_version"},
                                    Reference{"result", "workunitid", "workunit"},
                                    Reference{"result", "hostid", "host"},
                                    Reference{"result", "userid", "user"},
                                    Reference{"result", "teamid", "team"},
                                    Reference{"result", "batch", "batch"},
                                    Reference{"result", "appid", "app"},
                                    Reference{"result", "app_version_id", "app_version"},
                                    Reference{"batch", "user_id", "user"},
                                    Reference{"batch", "app_id", "app"},
                                    Reference{"user_submit", "user_id", "user"},
                                    Reference{"user_submit_app", "user_id", "user"},
                                    Reference{"user_submit_app", "app_id", "app"},
                                    Reference{"assignment", "workunitid", "workunit"},
                                    Reference{"assignment", "resultid", "result"},
                                    Reference{"msg_from_host", "hostid", "host"},
                                    Reference{"msg_to_host", "hostid", "host"},
                                    Reference{"credited_job", "userid", "user"},
                                    Reference{"credited_job", "workunitid", "workunit"},
                                    Reference{"credit_user", "userid", "user"},
                                    Reference{"credit_user", "appid", "app"},
                                    Reference{"credit_team", "teamid", "team"},
                                    Reference{"credit_team", "appid", "app"},
                                    Reference{"user_deleted", "userid", "user"},
                                    Reference{"host_deleted", "hostid", "host"},
                                    Reference{"team_delta", "userid", "user"},
                                    Reference{"team_delta", "teamid", "team"},
                                    Reference{"token", "userid", "user"},
                                    Reference{"consent", "userid", "user"}};

/// `newest`: the highest id that the column has to hold by now.
void judge_range(const SchemaColumn& column, double newest, SchemaFindings& found) {
    constexpr double kAlmost = .8;
    const ColumnRange range = column_range(column.type);
    if (range.kind != ColumnRange::Kind::kWhole || newest <= kAlmost * range.most) return;
    const bool counts = column.name == "id";
    const bool is_unsigned = column.type.find("unsigned") != std::string::npos;
    const std::string what = counts ? "the newest id" : fmt::format("the newest id of what it refers to");
    found.errors.push_back(fmt::format(
        "{}.{} ({}) is about to overflow: {} is {:.0f}, {:.0f} % of the {:.0f} that it can hold; beyond that no row "
        "can be added: {}",
        column.table, column.name, column.type, what, newest, 100 * newest / range.most, range.most,
        column.modify((is_unsigned ? "bigint unsigned " : "bigint ") + column.definition)));
}

void ids_that_run_out(const SchemaSurvey& survey, SchemaFindings& found) {
    const auto newest_of = [&](std::string_view table) {
        const auto at = survey.newest.find(std::string(table));
        return at == survey.newest.end() ? 0. : static_cast<double>(at->second);
    };
    for (const auto& [table, newest] : survey.newest)
        if (const SchemaColumn* id = find(survey.found, table, "id"))
            judge_range(*id, static_cast<double>(newest), found);
    for (const Reference& reference : kReferences)
        if (const SchemaColumn* column = find(survey.found, reference.table, reference.column))
            judge_range(*column, newest_of(reference.of), found);
    // Versions of the anonymous platform are 1000000 times the app's id, and the kind of processor.
    if (const SchemaColumn* column = find(survey.found, "host_app_version", "app_version_id"))
        judge_range(*column, std::max(newest_of("app_version"), 1e6 * newest_of("app")), found);
}

/// By right: the tables in which it is missing.
using MissingColumns = std::map<std::string, std::set<std::string>>;

/// Of a table that is there. Its columns know what is granted to them, to the table, to all tables, and to roles.
void add_lacking(const std::string& table, const SchemaSurvey& survey, const Schema* expected,
                 MissingColumns& lacking) {
    static constexpr std::pair<const char*, const char*> kOfColumns[] = {
        {"select", "SELECT"}, {"insert", "INSERT"}, {"update", "UPDATE"}};
    for (const SchemaColumn& column : survey.found.columns) {
        if (column.table != table || (expected != nullptr && !find(*expected, table, column.name))) continue;
        for (const auto& [in_columns, right] : kOfColumns)
            if (column.rights.find(in_columns) == std::string::npos) lacking[right].insert(table);
    }
}

/// Programs delete from the assignments and from tables of their own; these they make, if they are not there.
MissingColumns lacking_rights(const Schema& expected, const SchemaSurvey& survey) {
    MissingColumns lacking;
    const auto need = [&](const std::string& table, std::initializer_list<const char*> rights) {
        for (const char* right : rights)
            if (!survey.grants.has(table, right)) lacking[right].insert(table);
    };
    for (const std::string& table : survey.hidden)
        for (const char* right : {"SELECT", "INSERT", "UPDATE"}) lacking[right].insert(table);
    for (const auto& [table, statement] : expected.tables)
        if (survey.found.tables.contains(table) && !is_of_pages(table)) add_lacking(table, survey, &expected, lacking);
    need("assignment", {"DELETE"});
    for (const std::string_view name : own_tables()) {
        const std::string table(name);
        if (survey.found.tables.contains(table))
            add_lacking(table, survey, nullptr, lacking), need(table, {"DELETE"});
        else
            need(table, {"SELECT", "INSERT", "UPDATE", "DELETE", "CREATE"});
    }
    return lacking;
}

/// "SELECT, INSERT (of host, user), DELETE (of assignment)".
std::string text_of(MissingColumns lacking) {
    std::string text;
    for (const char* right : {"SELECT", "INSERT", "UPDATE", "DELETE", "CREATE"}) {
        if (lacking[right].empty()) continue;
        const std::string tables = fmt::format(" (of {})", fmt::join(lacking[right], ", "));
        if (text.ends_with(tables)) text.resize(text.size() - tables.size());
        text += (text.empty() ? "" : ", ") + std::string(right) + tables;
    }
    return text;
}

void missing_rights(const Schema& expected, const SchemaSurvey& survey, SchemaFindings& found) {
    const MissingColumns lacking = lacking_rights(expected, survey);
    if (lacking.empty()) return;
    const bool only_create = lacking.begin()->first == "CREATE" && lacking.size() == 1;
    (only_create ? found.warnings : found.errors)
        .push_back(fmt::format(
            "{} lacks rights in database {}: {}; {}; as the server's root: GRANT SELECT, INSERT, UPDATE, DELETE, "
            "CREATE, ALTER ON `{}`.* TO {};",
            survey.account, survey.database, text_of(lacking),
            only_create ? "feeder and scheduler do without their own tables, the programs for batches and gangs do not"
                        : "programs stop at it",
            survey.database, survey.account));
}

}  // namespace

SchemaFindings schema_findings(const Schema& expected, const SchemaSurvey& survey) {
    SchemaFindings found;
    missing_rights(expected, survey, found);
    if (survey.read_only)
        found.errors.emplace_back(
            "the database server is read-only: no program can write; is <db_host> a replica? Otherwise: SET GLOBAL "
            "read_only=0;");
    missing_tables(expected, survey, found);
    missing_columns(expected, survey, found);
    missing_indexes(expected, survey, found);
    types_that_hold_less(expected, survey, found);
    ids_that_run_out(survey, found);
    return found;
}

}  // namespace sluice
