// SPDX-License-Identifier: LGPL-3.0-or-later
// db/schema.sql against what upstream's programs rely on: columns by position, keys by name. The expected_*.tsv
// files were made from the documented schema, not from schema.sql.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/support/paths.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

using Row = std::vector<std::string>;

std::vector<Row> expected(const std::string& file) {
    std::ifstream in(std::filesystem::path(sluice::test::source_dir()) / "tests/db/schema" / file);
    EXPECT_TRUE(in) << file;
    std::vector<Row> rows;
    for (std::string line; std::getline(in, line);) {
        if (line.empty() || line[0] == '#') continue;
        auto& row = rows.emplace_back();
        std::istringstream fields(line);
        for (std::string field; std::getline(fields, field, '\t');) row.push_back(field);
    }
    return rows;
}

std::string joined(const Row& row) {
    std::ostringstream text;
    for (std::size_t i = 0; i < row.size(); ++i) text << (i > 0 ? " | " : "") << row[i];
    return text.str();
}

std::vector<std::string> lines(const std::vector<Row>& rows) {
    std::vector<std::string> all;
    for (const auto& row : rows) all.push_back(joined(row));
    return all;
}

class Schema : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        auto& server = PrivateMariaDb::shared();
        server.create_project_database("schema");
        const std::filesystem::path folder = std::filesystem::path(sluice::test::source_dir()) / "db";
        server.load("schema", folder / "schema_locality.sql");
        server.load("schema", folder / "schema_condor.sql");
    }
    Database db{PrivateMariaDb::shared().settings("schema")};
};

/// Display widths of integers differ by server version and mean nothing.
std::string plain_type(std::string type) {
    const auto open = type.find("int(");
    if (open != type.npos) type.erase(open + 3, type.find(')') - open - 2);
    return type;
}

TEST_F(Schema, EveryTableHasItsColumnsInOrder) {
    std::vector<Row> want = expected("expected_columns.tsv");
    std::stable_sort(want.begin(), want.end(), [](const Row& a, const Row& b) { return a[0] < b[0]; });
    std::vector<Row> have;
    Rows rows = db.query(
        Sql("select table_name, column_name, column_type, lower(is_nullable), ifnull(column_default,'-'), extra "
            "from information_schema.columns join information_schema.tables using (table_schema, table_name) "
            "where table_schema='schema' and table_type='BASE TABLE' order by binary table_name, ordinal_position"));
    while (rows.next()) {
        std::string fallback = rows.text(4), extra = rows.text(5);
        if (fallback == "NULL") fallback = "-";
        for (std::string* text : {&fallback, &extra}) {
            if (text->ends_with("()")) text->resize(text->size() - 2);
            if (text->empty()) *text = "-";
        }
        have.push_back({rows.text(0), rows.text(1), plain_type(rows.text(2)), rows.text(3), fallback, extra});
    }
    EXPECT_EQ(lines(have), lines(want));
}

TEST_F(Schema, EveryKeyHasItsNameColumnsAndUniqueness) {
    std::vector<std::string> want = lines(expected("expected_indexes.tsv"));
    std::vector<Row> have;
    Rows rows = db.query(
        Sql("select table_name, if(index_type='FULLTEXT','fulltext',if(non_unique,'plain','unique')), index_name, "
            "group_concat(concat(column_name, if(collation='D',':desc','')) order by seq_in_index) "
            "from information_schema.statistics where table_schema='schema' "
            "group by table_name, index_name, non_unique, index_type"));
    while (rows.next()) have.push_back({rows.text(0), rows.text(1), rows.text(2), rows.text(3)});
    std::vector<std::string> got = lines(have);
    std::sort(want.begin(), want.end());
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, want);
}

TEST_F(Schema, ForeignKeys) {
    const auto have = rows_of(
        db,
        Sql("select k.table_name, k.column_name, k.referenced_table_name, k.referenced_column_name, r.update_rule, "
            "r.delete_rule from information_schema.key_column_usage k join information_schema.referential_constraints r "
            "on r.constraint_schema=k.constraint_schema and r.constraint_name=k.constraint_name "
            "and r.table_name=k.table_name where k.table_schema='schema' and k.referenced_table_name is not null "
            "order by k.table_name, k.column_name"),
        6);
    EXPECT_THAT(lines(have), testing::UnorderedElementsAreArray(lines(expected("expected_foreign_keys.tsv"))));
}

TEST_F(Schema, AllTablesAreTransactionalAndUtf8) {
    EXPECT_EQ(
        number_of(db, Sql("select count(*) from information_schema.tables where table_schema='schema' and "
                          "table_type='BASE TABLE' and (engine<>'InnoDB' or table_collation<>'utf8mb4_unicode_ci')")),
        0);
}

TEST_F(Schema, ConsentTypesAreLoaded) {
    EXPECT_THAT(lines(rows_of(db,
                              Sql("select shortname, enabled, project_specific, privacypref from consent_type "
                                  "order by id"),
                              4)),
                testing::ElementsAre("ENROLL | 0 | 0 | 0", "STATSEXPORT | 0 | 0 | 1"));
}

TEST_F(Schema, LatestConsentShowsNewestRowOfEachKind) {
    db.execute(Sql("delete from consent"));
    db.execute(Sql(
        "insert into consent (userid, consent_type_id, consent_time, consent_flag, consent_not_required, source) "
        "values (1,1,100,1,0,'a'),(1,1,200,0,0,'b'),(1,2,50,1,0,'c'),(2,1,10,0,0,'d'),(2,1,10,1,0,'e'),(1,1,150,1,0,'f')"));
    EXPECT_THAT(lines(rows_of(db,
                              Sql("select userid, consent_type_id, consent_flag from latest_consent "
                                  "order by userid, consent_type_id"),
                              3)),
                testing::ElementsAre("1 | 1 | 0", "1 | 2 | 1", "2 | 1 | 1"));
}

TEST_F(Schema, MisfitsAreRefused) {
    EXPECT_THROW(db.execute(Sql("insert into platform (create_time) values (1)")), DbError) << "strict mode";
}

}  // namespace
}  // namespace sluice::test
